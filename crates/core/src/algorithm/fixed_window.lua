-- Fixed window: the twin of fixed_window.rs.
--
-- State: a = the window's number (aligned) or its first tick (first hit), b = the count; c is
-- passed through. Rule: limit, window (ticks), start (0 aligned, 1 at the first hit), far (ticks
-- ahead beyond which a stored window is re-anchored).
--
-- Exact in doubles: limit and window are at most 2^51, the count is cut to 2 * limit before it is
-- added to, and time is counted from `now`, so that nothing passes 2^53 but the age of a window
-- that lies further from `now` than that, which is only compared.

-- The window in force, its count, and how many ticks of it have passed: below zero when the clock
-- stepped back. A window that holds nothing is no window.
local function fixed_roll(a, b, now, phase, limit, window, start)
    if b > 2 * limit then b = 2 * limit end
    local present, elapsed, unit = now, 0, 1
    if start == 0 then
        -- Windows of a calendar are shifted by more than one.
        local shift = phase % window
        elapsed, unit = now % window, window
        present, elapsed = (now - elapsed) / window + (phase - shift) / window, elapsed + shift
        if elapsed >= window then present, elapsed = present + 1, elapsed - window end
    end
    local age = elapsed + (present - a) * unit
    if b == 0 or age >= window then return present, 0, elapsed end
    return a, b, age
end

local function fixed_ask(a, b, c, now, phase, cost, limit, window, start, far)
    if cost > limit then return false, a, b, c end
    local held, count, age = fixed_roll(a, b, now, phase, limit, window, start)
    if count + cost <= limit then return true, held, count + cost, c end
    if -age > far then
        -- Asked as if it held nothing, it tells the window a charge would open.
        local opened = fixed_roll(a, 0, now, phase, limit, window, start)
        return false, opened, b, c
    end
    return false, a, b, c
end

local function fixed_room(a, b, c, now, phase, limit, window, start, far)
    local _, count = fixed_roll(a, b, now, phase, limit, window, start)
    if count > limit then return 0 end
    return limit - count
end

local function fixed_reset(a, b, c, now, phase, limit, window, start, far)
    local _, count, age = fixed_roll(a, b, now, phase, limit, window, start)
    if count == 0 then return 0 end
    return window - age
end

-- A count in which a charge of `cost` is replaced by `actual`, never below zero, at most `most`.
local function replace(count, cost, actual, most)
    if actual <= cost then
        if count <= cost - actual then return 0 end
        return count - (cost - actual)
    end
    if count >= most then return count end
    if actual - cost >= most - count then return most end
    return count + (actual - cost)
end

local function fixed_give(a, b, c, now, phase, cost, left_a, left_b, left_c, actual,
        limit, window, start, far)
    if a ~= left_a or b == 0 then return a, b, c end
    return a, replace(b, cost, actual, 2 * limit), c
end
