-- Counts the instances that have shown themselves within 16 seconds.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], micros, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', micros - 16000000)
-- A clock that stepped back must not count those of the future for ever.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', micros), '+inf')
redis.call('PEXPIRE', KEYS[1], 16000)
return redis.call('ZCARD', KEYS[1])
