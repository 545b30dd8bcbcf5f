-- What crates/redis answers about a sliding log, kept in a sorted set: the same arguments packed the
-- same way, costs above 1, a refusal that writes nothing and says when the cost would pass, and a
-- time to live in milliseconds. A charge has a member for each token that it costs.
local cost, limit, window = struct.unpack('<ddd', ARGV[1])
local time, key = redis.call('TIME'), KEYS[1]
local now = time[1] * 1000000 + time[2]
local live = string.format('(%.0f', now - window)
local count = redis.call('ZCOUNT', key, live, '+inf')
local wait = 0
if count + cost <= limit then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', live:sub(2))
    for i = 1, cost do
        redis.call('ZADD', key, string.format('%.0f', now), string.format('%.0f-%d', now, i))
    end
    redis.call('PEXPIRE', key, math.ceil(window / 1000))
elseif cost <= limit then
    local leaves = redis.call('ZRANGE', key, live, '+inf', 'BYSCORE', 'LIMIT',
        count + cost - limit - 1, 1, 'WITHSCORES')
    wait = leaves[2] + window - now
end
return struct.pack('<ddd', now, count, wait)
