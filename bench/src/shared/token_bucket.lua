-- A token bucket as tutorials have it: a hash of two decimal numbers, refilled when it is asked.
local rate, capacity, requested = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'timestamp')
local tokens, timestamp = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - timestamp) * rate)
local allowed = tokens >= requested
if allowed then tokens = tokens - requested end
redis.call('HMSET', KEYS[1], 'tokens', tokens, 'timestamp', now)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / rate))
return { allowed and 1 or 0, math.floor(tokens) }
