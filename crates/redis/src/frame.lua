-- All that is read and written. A script is what one of the two functions `frame_decide` and
-- `frame_give` does, after those functions that it calls, here and among the rules; those of rules that
-- it does not need are not in it. The most common decisions are put together from the `plain` pieces,
-- with every function that they call written out where it is called.
--
-- Kept is a state of two doubles (of a sliding window: one, and two counts of 32 bits), or a log: six
-- doubles (entries, how many of them have left, the sum before the rest, a base that is added to every
-- time, the newest time, the total) and 16 bytes for each entry.

local function frame_whole(a, b)
    if a < 0 or b < 0 or a % 1 ~= 0 or b % 1 ~= 0 then return false end
    return a <= 9007199254740992 and b <= 9007199254740992
end

-- A key's state as it is kept, and its words. What is no state is a fresh one, and `bad`; what may not
-- be read is an error.
local function frame_state(key, rule)
    local kept, bad, a, b, c = redis.pcall('GET', key), 0, 0, 0, 0
    if kept then
        if #kept == 16 then
            if rule == 3 then
                a, b, c = struct.unpack('<dI4I4', kept)
            else
                a, b = struct.unpack('<dd', kept)
            end
            local is_state = frame_whole(a, b)
            if is_state then return kept, bad, a, b, c end
        end
        if kept.err and not string.find(kept.err, 'WRONGTYPE', 1, true) then error(kept) end
        bad = 1
    end
    return '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0', bad, 0, 0, 0
end

-- The lifetime in milliseconds of what owes for so many ticks: with a clock that stands still at most
-- twice `far`. A time ahead of the clock by more than `far` is none to wait for.
local function frame_ttl(ticks, far, tick)
    if ticks > 3 * far then ticks = 3 * far end
    return math.ceil(ticks * tick / 1000)
end

-- Keeps a state for as long as it owes anything.
local function frame_keep(key, rule, a, b, c, ttl)
    if ttl <= 0 then
        redis.call('DEL', key)
    elseif rule == 3 then
        redis.call('SET', key, struct.pack('<dI4I4', a, b, c), 'PX', ttl)
    else
        redis.call('SET', key, struct.pack('<dd', a, b), 'PX', ttl)
    end
end

-- A log: the entries that have not left, how many have, the sum before the rest, the base, the entries
-- by number, and the whole value if it is short. What is no log is an empty one, and `bad`; what may not
-- be read is an error.
local function frame_log(key)
    -- The first 256 entries come with the header.
    local kept = redis.pcall('GETRANGE', key, 0, 4143)
    if kept == '' then return 0, 0, 0, 0, nil, 0, false end
    if type(kept) ~= 'string' or #kept < 48 then
        if kept.err and not string.find(kept.err, 'WRONGTYPE', 1, true) then error(kept) end
        return 0, 0, 0, 0, nil, 1, false
    end
    local n, gone, before, base, newest, total = struct.unpack('<dddddd', kept)
    local is_whole = 48 + 16 * n <= #kept
    if not (frame_whole(n, gone) and frame_whole(before, total) and frame_whole(newest, -base)
        and gone < n and before <= total and newest + base >= 0
        and (is_whole or redis.call('STRLEN', key) >= 48 + 16 * n)) then
        return 0, 0, 0, 0, nil, 1, false
    end
    n = n - gone
    local function at(i)
        if i >= n - 1 then return newest + base, total end
        local from, time, sum = 48 + 16 * (gone + i), nil, nil
        if from + 16 <= #kept then
            time, sum = struct.unpack('<dd', kept, from + 1)
        else
            time, sum = struct.unpack('<dd', redis.call('GETRANGE', key, from, from + 15))
        end
        return time + base, sum
    end
    return n, gone, before, base, at, 0, is_whole and kept
end

-- Asks a log, and tells how it is kept. One whose entries make no sense is an empty one, and `bad`.
local function frame_ask(key, now, cost, limit, window, far)
    local n, gone, before, base, at, bad, kept = frame_log(key)
    local passes, count, newest, left, rest, wait, shift =
        log_ask(at, n, before, now, cost, limit, window, far)
    if frame_whole(count, newest) and frame_whole(wait, shift) then
        return passes, count, newest, left, rest, wait, shift, n, gone, base, bad, kept
    end
    return cost <= limit, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, false
end

-- Writes a charge into a log, at the end or into its last entry; `left` more entries have left. A short
-- log is written anew without them, a long one once half of all have left.
local function frame_record(key, kept, gone, left, index, before, base, time, sum, ttl)
    local out, all = gone + left, gone + index + 1
    local entry = struct.pack('<dd', time - base, sum)
    if left == index or kept or (out >= 16 and 2 * out >= all) then
        local rest = ''
        if left == index then
            base = 0
            entry = struct.pack('<dd', time, sum)
        elseif kept then
            rest = string.sub(kept, 49 + 16 * out, 32 + 16 * all)
        else
            rest = redis.call('GETRANGE', key, 48 + 16 * out, 31 + 16 * all)
        end
        local header = struct.pack('<dddddd', all - out, 0, before, base, time - base, sum)
        redis.call('SET', key, header .. rest .. entry, 'PX', ttl)
    else
        redis.call('SETRANGE', key, 32 + 16 * all, entry)
        redis.call('SETRANGE', key, 0, struct.pack('<dddddd', all, out, before, base, time - base, sum))
        redis.call('PEXPIRE', key, ttl)
    end
end

-- Puts the clock of a log right for all entries at once, by their base.
local function frame_anchor(key, base, ttl)
    redis.call('SETRANGE', key, 24, struct.pack('<d', base))
    redis.call('PEXPIRE', key, ttl)
end

-- How much of what is wanted every enforcing limit has left; 1 if that is nothing.
local function frame_take(micros, request, wanted)
    for from = 41, #request, 88 do
        local key, rule, effect, tick, phase, sharing, p, q, r, s, t =
            struct.unpack('<ddddddddddd', request, from)
        if effect == 0 then
            local now, room = (micros - micros % tick) / tick, nil
            if rule == 4 then
                local _, count, newest = frame_ask(KEYS[key], now, 1, p, q, r)
                room = log_room(count, newest, 0, now, phase, p, q, r)
            else
                local _, _, a, b, c = frame_state(KEYS[key], rule)
                room = (rule == 1 and bucket_room or rule == 2 and fixed_room or sliding_room)(
                    a, b, c, now, phase, p, q, r, s, t)
            end
            room = (room - room % sharing) / sharing
            if room < wanted then wanted = room end
        end
    end
    return math.max(wanted, 1)
end

-- Decides all entries, and charges them all or none.
--
-- ARGV[1] is packed doubles: writes (1 or 0), passes (0 when a limit never passes), wanted (0, or the
-- most that an "up to" takes), the instants from and until which the phases hold: at others nothing is
-- done, and the instant alone is the reply; then 11 of each entry: key, rule (1 bucket, 2 fixed, 3 sliding, 4 log),
-- effect (0 enforces, 1 watches, 2 watches and is never written), tick in microseconds, phase, cost
-- (in an "up to" how many charges share it), the rule's five numbers.
--
-- The reply is the instant in microseconds and, of each entry, its key's state as it was kept: what
-- follows from them the caller knows by the same rules. A log replies with count, newest, wait and
-- shift, 32 bytes. At the end stands how many values were none, if any.
local function frame_decide()
    local time, request = redis.call('TIME'), ARGV[1]
    local micros = time[1] * 1000000 + time[2]
    local writes, all, wanted, first, last = struct.unpack('<ddddd', request)
    if micros < first or micros > last then return struct.pack('<d', micros) end
    local reply, bad, take, changes, stands = struct.pack('<d', micros), 0, 1, {}, {}
    if wanted > 0 and all == 1 then take = frame_take(micros, request, wanted) end
    -- An entry that no other can stop is written where it is asked.
    local alone = #request == 128 and writes * all == 1

    for from = 41, #request, 88 do
        local key, rule, effect, tick, phase, cost, p, q, r, s, t =
            struct.unpack('<ddddddddddd', request, from)
        local now, passes, change = (micros - micros % tick) / tick, true, nil
        key, cost = KEYS[key], cost * take
        if rule == 4 then
            local counted, newest, left, rest, wait, shift, n, gone, base, unread, kept
            passes, counted, newest, left, rest, wait, shift, n, gone, base, unread, kept =
                frame_ask(key, now, cost, p, q, r)
            reply, bad = reply .. struct.pack('<dddd', counted, newest, wait, shift), bad + unread
            if cost == 0 then
                passes = true
            elseif passes then
                local index, time, sum = log_record(n, counted, newest, rest, now, cost)
                local ttl = frame_ttl(log_reset(counted + cost, time, 0, now, phase, p, q, r), r, tick)
                change = {
                    key, passes, frame_record, key, kept, gone, left, index, rest, base, time, sum, ttl
                }
            elseif shift > 0 then
                local ttl = frame_ttl(log_reset(counted, newest - shift, 0, now, phase, p, q, r), r, tick)
                change = { key, passes, frame_anchor, key, base - shift, ttl }
            end
        else
            local kept, unread, a, b, c = frame_state(key, rule)
            reply, bad = reply .. kept, bad + unread
            if cost > 0 then
                local ask, reset, far
                if rule == 1 then
                    ask, reset, far = bucket_ask, bucket_reset, t
                elseif rule == 2 then
                    ask, reset, far = fixed_ask, fixed_reset, s
                else
                    ask, reset, far = sliding_ask, sliding_reset, r
                end
                local x, y, z
                passes, x, y, z = ask(a, b, c, now, phase, cost, p, q, r, s, t)
                if x ~= a or y ~= b or z ~= c then
                    local ttl = frame_ttl(reset(x, y, z, now, phase, p, q, r, s, t), far, tick)
                    if alone and effect < 2 then
                        frame_keep(key, rule, x, y, z, ttl)
                    else
                        change = { key, passes, frame_keep, key, rule, x, y, z, ttl }
                    end
                end
            end
        end
        if not passes and effect == 0 then all = 0 end
        if change and effect < 2 then changes[#changes + 1] = change end
    end

    -- Of one key the last charge stands, before a clock that is put right.
    for i = 1, #changes do
        local key, passes = changes[i][1], changes[i][2]
        if passes and all == 1 or not passes and not stands[key] then stands[key] = i end
    end
    for i = 1, writes * #changes do
        local change = changes[i]
        if stands[change[1]] == i then change[3](unpack(change, 4)) end
    end
    if bad > 0 then reply = reply .. struct.pack('<d', bad) end
    return reply
end

-- What `frame_decide` does, where charges only are made, all of them enforcing, each of a cost above
-- zero and of a key of its own, under rules of words: one `plain_ask` and one `plain_keep` for each, of
-- the number N, whose rule is the NUMBERth and RULE by name, between `plain_begin` and `plain_end`.
-- KEPT are all that were kept, joined, and UNREAD how many were none, as a sum.
--
-- ARGV[1] is packed doubles: of each entry tick in microseconds, phase, cost, the rule's five numbers.
-- The reply is that of `frame_decide`.
local function plain_begin()
    local time, all = redis.call('TIME'), true
    local micros = time[1] * 1000000 + time[2]
end

local function plain_ask()
    local tick_N, phase_N, cost_N, p_N, q_N, r_N, s_N, t_N =
        struct.unpack('<dddddddd', ARGV[1], FROM)
    local kept_N, unread_N, a_N, b_N, c_N = frame_state(KEYS[N], NUMBER)
    local now_N = (micros - micros % tick_N) / tick_N
    local passes_N, x_N, y_N, z_N = RULE_ask(
        a_N, b_N, c_N, now_N, phase_N, cost_N, p_N, q_N, r_N, s_N, t_N)
    if not passes_N then all = false end
end

local function plain_keep()
    if (all or not passes_N) and (x_N ~= a_N or y_N ~= b_N or z_N ~= c_N) then
        local owes = RULE_reset(x_N, y_N, z_N, now_N, phase_N, p_N, q_N, r_N, s_N, t_N)
        local ttl = frame_ttl(owes, FAR_N, tick_N)
        frame_keep(KEYS[N], NUMBER, x_N, y_N, z_N, ttl)
    end
end

local function plain_end()
    local reply, bad = struct.pack('<d', micros) .. KEPT, UNREAD
    if bad > 0 then reply = reply .. struct.pack('<d', bad) end
    return reply
end

-- Changes a charge of a log, and with it every sum from it on.
local function frame_give_log(key, now, cost, charged_at, actual, limit, window)
    local n, gone, before, base, at, bad = frame_log(key)
    local index, change, out = log_give(at, n, before, now, cost, charged_at, actual, limit, window)
    if not index or change == 0 then return bad end
    local rest, newest, total = {}, 0, before
    if index > 0 then newest, total = at(index - 1) end
    for i = out and index + 1 or index, n - 1 do
        newest, total = at(i)
        total = total + change
        rest[#rest + 1] = struct.pack('<dd', newest - base, total)
    end
    local all = gone + index + #rest
    if all == gone then
        redis.call('DEL', key)
    else
        redis.call('SETRANGE', key, 48 + 16 * (gone + index), table.concat(rest))
        local header = struct.pack('<dddddd', all, gone, before, base, newest - base, total)
        redis.call('SETRANGE', key, 0, header)
    end
    return bad
end

-- Replaces a charge by what it turned out to cost.
--
-- ARGV[1] is packed doubles: rule, tick in microseconds, phase, cost, the three words that the charge
-- left, rate and full of the bucket it was charged under, the actual cost, the rule's five numbers.
-- The reply is how many values were no states.
local function frame_give()
    local time, key = redis.call('TIME'), KEYS[1]
    local micros = time[1] * 1000000 + time[2]
    local rule, tick, phase, cost, left_a, left_b, left_c, then_rate, then_full, actual, p, q, r, s, t =
        struct.unpack('<ddddddddddddddd', ARGV[1])
    local now = (micros - micros % tick) / tick
    if rule == 4 then return frame_give_log(key, now, cost, left_b, actual, p, q) end
    local _, bad, a, b, c = frame_state(key, rule)
    local x, y, z
    if rule == 1 then
        x, y, z = bucket_give(a, b, c, now, phase, cost, left_a, left_b, left_c, then_rate, then_full,
            actual, p, q, r, s, t)
    else
        x, y, z = (rule == 2 and fixed_give or sliding_give)(
            a, b, c, now, phase, cost, left_a, left_b, left_c, actual, p, q, r, s, t)
    end
    if x ~= a or y ~= b or z ~= c then
        local reset = rule == 1 and bucket_reset or rule == 2 and fixed_reset or sliding_reset
        local ticks = reset(x, y, z, now, phase, p, q, r, s, t)
        local far = rule == 1 and t or rule == 2 and s or r
        frame_keep(key, rule, x, y, z, frame_ttl(ticks, far, tick))
    end
    return bad
end
