-- Sliding log: the twin of sliding_log.rs, over a ring that the caller keeps.
--
-- The ring is lent as `at(i) -> time, sum` for i from 0 (the oldest entry) to n - 1, both strictly
-- rising: a tick, and the running sum of costs through that entry; and as `before`, the running
-- sum before the oldest. O(log n) entries are read; entry n - 1, which a header may hold, by every
-- call. Summed up, a log is a = what counts, b = the newest time, 0 when empty; c is nothing.
-- Rule: limit (at most 10,000), window (ticks), far (ticks ahead beyond which all is re-anchored).
--
--   log_count  -> a, b, first, before: the `first` oldest entries count no more, and `before` is
--                 the running sum before the others.
--   log_ask    -> passes, a, b, first, before, wait, shift: a and b as they are without the charge.
--                 Refused: `wait` in ticks (0 above the limit), and `shift`, which a refusal takes
--                 from every time once the clock stepped back far. In a ring that keeps times less
--                 a base, which `at` adds, that is one write: base - shift.
--   log_record -> index, time, sum: the entry to write for a charge that passed, from a, b and
--                 before of log_ask. It lies at n - 1 (overwrite) or n (append); then `first`
--                 entries go from the front and `before` is the ring's. A ring has room enough with
--                 `limit` entries, or as many as it held when the limit was lowered. A base begins
--                 again at 0 when only the new entry stays.
--   log_give   -> index, change, gone: what to add to the sums of entry `index` and of all after
--                 it, and whether the entry then goes. nil: nothing changes.
--
-- Exact in doubles: instants are at most 2^53, the window 2^51; times are subtracted before the
-- window is added. Sums pass 2^53 after 900 billion charges of 10,000 in a life without an idle
-- window, stored times after steps back of 200 years in all.

-- The first entry later than `time` whose sum is at least `sum`; n if there is none. Doubles its
-- stride from the oldest, since seldom more than a few have left, then halves it.
local function log_find(at, n, time, sum)
    local low, high = 0, n
    while low < high do
        local middle = (low + high - (low + high) % 2) / 2
        if high == n and 2 * low < middle then middle = 2 * low end
        local t, s = at(middle)
        if t > time and s >= sum then high = middle else low = middle + 1 end
    end
    return low
end

-- What counts, the newest time, how many entries count no more and the sum before the rest.
local function log_count(at, n, before, now, window)
    if n == 0 then return 0, 0, 0, before end
    local newest, total = at(n - 1)
    local present = newest
    if now > newest then present = now end
    local first = log_find(at, n, present - window, 0)
    if first > 0 then
        local _, sum = at(first - 1)
        before = sum
    end
    return total - before, newest, first, before
end

local function log_ask(at, n, before, now, cost, limit, window, far)
    local count, newest, first, gone = log_count(at, n, before, now, window)
    if cost > limit then return false, count, newest, first, gone, 0, 0 end
    local excess = count + cost - limit
    if excess <= 0 then return true, count, newest, first, gone, 0, 0 end
    local leaves = at(log_find(at, n, -1, gone + excess))
    local shift = 0
    if newest - now > far then
        shift = at(first)
        if shift > newest - now then shift = newest - now end
    end
    return false, count, newest, first, gone, leaves - shift - now + window, shift
end

local function log_record(n, a, b, before, now, cost)
    if n > 0 and b >= now then return n - 1, b, before + a + cost end
    return n, now, before + a + cost
end

local function log_room(a, b, c, now, phase, limit, window, far)
    if a > limit then return 0 end
    return limit - a
end

local function log_reset(a, b, c, now, phase, limit, window, far)
    if a == 0 or now - b >= window then return 0 end
    return b - now + window
end

-- Calls `replace` of fixed_window.lua.
local function log_give(at, n, before, now, cost, left_b, actual, limit, window)
    local count, _, first = log_count(at, n, before, now, window)
    local index = log_find(at, n, left_b - 1, 0)
    if index >= n or index < first then return nil end
    local time, sum = at(index)
    if time ~= left_b then return nil end
    if index > 0 then
        local _, sum_before = at(index - 1)
        before = sum_before
    end
    local held = sum - before
    local settled = replace(held, cost, actual, 2 * limit - (count - held))
    return index, settled - held, settled == 0
end
