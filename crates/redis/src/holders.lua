-- Hears one holder and tells what it may have: the rule of core's `Holders` over what is kept.
--
-- ARGV[1] is the holder in 8 bytes, then packed doubles: turn, limit, held, wanted, and the lease in
-- milliseconds. Kept are 36 bytes for each holder: its 8, the turn and the end of its lease in
-- microseconds as doubles, the lease, what it has and what it wants in 32 bits each. The reply is what is
-- granted, what others have and what more they want in 32 bits each, then in how many microseconds the
-- first of their leases ends, as a double; 0 for none.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local id, turn, limit, held, wanted, lease = struct.unpack('<c8ddddd', ARGV[1])
local kept = redis.pcall('GET', KEYS[1]) or ''
if type(kept) ~= 'string' then
    if not string.find(kept.err, 'WRONGTYPE', 1, true) then error(kept) end
    kept = ''
end
-- What holds no holders holds none; neither does a lease that nobody may have.
local whole = (#kept % 36 == 0 and #kept <= 9216) and #kept or 0
local parts, others, waiting, first, last, idle, stale = {}, 0, 0, 0, now, 0, false
for from = 1, whole, 36 do
    local who, heard, ends, span, count, wants = struct.unpack('<c8ddI4I4I4', kept, from)
    if ends > now and span <= 3600000 then
        local part = string.sub(kept, from, from + 35)
        if ends > now + span * 1000 then
            -- The clock has stepped back.
            ends = now + span * 1000
            part = struct.pack('<c8ddI4I4I4', who, heard, ends, span, count, wants)
        end
        if who == id then
            stale = heard >= turn
        else
            parts[#parts + 1] = part
            if ends > last then last = ends end
            others = others + count
            if wants > count then waiting = waiting + wants - count end
            if count == 0 then
                if idle == 0 then idle = #parts end
            elseif first == 0 or ends < first then
                first = ends
            end
        end
    end
end
local granted = 0
if not stale then
    wanted = math.max(wanted, held)
    local share = waiting > 0 and math.ceil(limit / (#parts + 1)) or limit
    granted = math.min(wanted, math.max(limit - others, 0), share)
    local count = math.max(granted, held)
    if #parts >= 256 and idle > 0 and count > 0 then table.remove(parts, idle) end
    if #parts >= 256 then
        granted = 0
    elseif wanted > 0 then
        local ends = now + lease * 1000
        if ends > last then last = ends end
        parts[#parts + 1] = struct.pack('<c8ddI4I4I4', id, turn, ends, lease, count, wanted)
    end
    if #parts > 0 then
        local ttl = math.ceil((last - now) / 1000)
        redis.call('SET', KEYS[1], table.concat(parts), 'PX', ttl)
    elseif kept ~= '' then
        redis.call('DEL', KEYS[1])
    end
end
if first > 0 then first = first - now end
return struct.pack('<I4I4I4d', granted, math.min(others, 4294967295), math.min(waiting, 4294967295), first)
