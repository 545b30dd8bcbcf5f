-- Sliding log: the twin of sliding_log.rs, over a ring that the caller keeps.
--
-- The ring is given as `at(i) -> time, sum` for i from 0 (the oldest entry) to n - 1, both strictly
-- rising: a tick, and the running sum of costs through that entry; and as `before`, the running sum
-- before the oldest. A ring that keeps times less a base adds the base in `at`. Each function reads
-- O(log n) entries and asks for entry n - 1 first, which a header may hold.
-- Summed up, a log is a = what counts, b = the newest time (0 when empty), as the Rust tells it.
-- Rule: limit (at most 10,000), window (ticks), far (ticks ahead beyond which all is re-anchored).
--
--   log_ask    -> passes, a, b, first, before, wait, shift
--                 a and b as they are before the charge. `first` oldest entries count no more and
--                 `before` is the running sum before the rest. Refused: `wait` ticks (0 for a cost
--                 above the limit), and once the clock stepped back far, `shift` ticks to take
--                 from every time (of a base: once), to be written although nothing is charged.
--   log_record -> index, time, sum: what to write of a charge that log_ask let pass. Entry `index`
--                 is n - 1 (overwrite) or n (append), counted before `first` entries are dropped
--                 from the front; `before` from log_ask then is the ring's. At most `limit` entries
--                 stay, or as many as there were under a limit lowered since.
--   log_give   -> index, change, gone: add `change` to the sums of entry `index` and all after it,
--                 and if `gone` take entry `index` out. Without an index nothing changes.
--
-- Exact in doubles: instants are at most 2^53, the window 2^51, and times are compared and
-- subtracted before the window is added. Running sums grow by at most 2 * limit per charge and begin
-- again at 0 with an empty key: 2^53 is 400 million charges of 10,000 a second for years.

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
    if index >= n or index < first then return nil, 0, false end
    local time, sum = at(index)
    if time ~= left_b then return nil, 0, false end
    if index > 0 then
        local _, sum_before = at(index - 1)
        before = sum_before
    end
    local held = sum - before
    local most = 2 * limit - (count - held)
    if most < 0 then most = 0 end
    local settled = replace(held, cost, actual, most)
    return index, settled - held, settled == 0
end
