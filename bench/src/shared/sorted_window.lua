-- A sliding log as tutorials have it: a sorted set with a member for each call.
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window * 1000000)
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then return 0 end
redis.call('ZADD', KEYS[1], now, now .. '-' .. math.random(1000000))
redis.call('EXPIRE', KEYS[1], window)
return limit - count - 1
