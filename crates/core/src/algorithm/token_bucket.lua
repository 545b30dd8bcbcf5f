-- Token bucket, and the leaky bucket as a queue: the twin of token_bucket.rs and leaky_bucket.rs.
--
-- State: a = debt in units of 1/period token, b = the tick it was counted at; c is passed through.
-- Rule: rate (units that leak per tick), period (units per token), limit (units up to which a
-- charge passes: the burst for a caller that cannot wait and for `give`, else full), full (burst
-- and queue), far (ticks ahead beyond which a stored time is re-anchored).
--
-- Exact in doubles: 3 * full + rate <= 2^53 is proved when a limit is built, debt is cut to
-- 2 * full, and `elapsed < debt / rate` stands before `rate * elapsed`. A quotient of integers up
-- to 2^53 never rounds onto or across an integer, so comparing an integer with it is exact.

local function bucket_leak(debt, last, now, rate, full)
    if debt > 2 * full then debt = 2 * full end
    local elapsed = now - last
    if debt > 0 and elapsed < debt / rate then
        if elapsed < 0 then return debt, last, -elapsed end
        return debt - rate * elapsed, now, 0
    end
    return 0, now, 0
end

local function bucket_ask(a, b, c, now, phase, cost, rate, period, limit, full, far)
    if cost > limit / period then return false, a, b, c end
    local debt, last, back = bucket_leak(a, b, now, rate, full)
    debt = debt + cost * period
    if debt <= limit then return true, debt, last, c end
    if back > far then return false, a, now, c end
    return false, a, b, c
end

local function bucket_room(a, b, c, now, phase, rate, period, limit, full, far)
    local free = limit - bucket_leak(a, b, now, rate, full)
    if free <= 0 then return 0 end
    return (free - free % period) / period
end

local function bucket_reset(a, b, c, now, phase, rate, period, limit, full, far)
    local debt, _, back = bucket_leak(a, b, now, rate, full)
    return (debt + -debt % rate) / rate + back
end

local function bucket_give(a, b, c, now, phase, cost, left_a, left_b, left_c, then_rate, then_full,
        actual, rate, period, limit, full, far)
    local debt, last = bucket_leak(a, b, now, rate, full)
    if actual > cost then
        local more = actual - cost
        if more > (2 * full - debt) / period then return 2 * full, last, c end
        return debt + more * period, last, c
    end
    local since = last - left_b
    if rate < then_rate or full < then_full or since < 0 then return a, b, c end
    local given = (cost - actual) * period
    if full > limit then
        -- A queue gives back the whole place of its tail, and no other.
        if since > left_a / rate or debt + rate * since ~= left_a then return a, b, c end
    elseif since < given / rate then
        given = given - rate * since
    else
        given = 0
    end
    if given > debt then given = debt end
    return debt - given, last, c
end
