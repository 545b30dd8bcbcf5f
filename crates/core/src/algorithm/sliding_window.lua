-- Sliding window counter: the twin of sliding_window.rs.
--
-- State: a = the number of the current window, b = the previous window's count, c = the current
-- one's, both below 2^32. Rule: limit, window (ticks), far (ticks ahead beyond which a stored
-- window is re-anchored).
--
-- Exact in doubles: 5 * limit * window <= 2^53 is proved when a limit is built, and counts weigh at
-- most 2 * limit each. `back` of a window further ahead than 2^53 ticks is only compared.

local function sliding_roll(a, b, c, now, window)
    local elapsed = now % window
    local present = (now - elapsed) / window
    if a == present or b + c == 0 then return present, b, c, elapsed, 0 end
    if a == present - 1 then return present, c, 0, elapsed, 0 end
    if a < present then return present, 0, 0, elapsed, 0 end
    -- A clock that stepped back: as if it stood at the start of the stored window.
    return a, b, c, 0, (a - present) * window - elapsed
end

-- What is used, in units of 1/window.
local function sliding_used(prev, cur, elapsed, limit, window)
    if prev > 2 * limit then prev = 2 * limit end
    if cur > 2 * limit then cur = 2 * limit end
    return prev * (window - elapsed) + cur * window
end

local function sliding_ask(a, b, c, now, phase, cost, limit, window, far)
    if cost > limit then return false, a, b, c end
    local k, prev, cur, elapsed, back = sliding_roll(a, b, c, now, window)
    local used = sliding_used(prev, cur, elapsed, limit, window)
    if used + cost * window <= limit * window then
        return true, k, prev, cur + cost
    end
    if back > far then return false, (now - now % window) / window, b, c end
    return false, a, b, c
end

local function sliding_room(a, b, c, now, phase, limit, window, far)
    local _, prev, cur, elapsed = sliding_roll(a, b, c, now, window)
    local free = limit * window - sliding_used(prev, cur, elapsed, limit, window)
    if free <= 0 then return 0 end
    return (free - free % window) / window
end

local function sliding_reset(a, b, c, now, phase, limit, window, far)
    local _, prev, cur, elapsed, back = sliding_roll(a, b, c, now, window)
    if cur > 0 then return 2 * window - elapsed + back end
    if prev > 0 then return window - elapsed + back end
    return 0
end

-- Calls `replace` of fixed_window.lua.
local function sliding_give(a, b, c, now, phase, cost, left_a, left_b, left_c, actual,
        limit, window, far)
    local k, prev, cur = sliding_roll(a, b, c, now, window)
    if left_a == k and cur > 0 then return k, prev, replace(cur, cost, actual, 2 * limit) end
    if left_a == k - 1 and prev > 0 then return k, replace(prev, cost, actual, 2 * limit), cur end
    return a, b, c
end
