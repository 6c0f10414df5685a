/**
 * The log in Redis. Each operation is one script, so it is atomic. All keys begin with KEYS[1], whose
 * braces put them into one slot of a cluster:
 *
 * - `:run:RUN` hash: epoch, next, ended, position; first, if events before it are trimmed.
 * - `:events:RUN` stream: entry `SEQ-1` is event SEQ, so that Redis refuses a second event SEQ.
 * - `:runs` set of runs by position. `:counter` the last position or token.
 * - `:written` is overwritten to show that Redis can be written.
 * - `:changes` stream of the ids of changed runs, for one waiting reader per process.
 * - `:groups` names of consumer groups; `:place:GROUP:RUN` hash: next, served, attempts, reason, until, lease, dead.
 * - `:waiting:GROUP` runs with events to deliver, by turn; `:leased:GROUP` by end of the lease; `:dead:GROUP` by position.
 */
const SHARED = `
local P = KEYS[1]
local function run_key(id) return P .. ':run:' .. id end
local function events_key(id) return P .. ':events:' .. id end
local function place_key(group, id) return P .. ':place:' .. group .. ':' .. id end

-- Starts with the time, so that numbers from before a FLUSHALL do not return.
local function count()
  if redis.call('EXISTS', P .. ':counter') == 0 then
    local time = redis.call('TIME')
    redis.call('SET', P .. ':counter', string.format('%s%06d', time[1], time[2]))
  end
  return redis.call('INCR', P .. ':counter')
end

-- In ms since 1970.
local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function text(number) return string.format('%.0f', number) end

local function announce(id)
  redis.call('XADD', P .. ':changes', 'MAXLEN', '~', '4096', '*', 'run', id)
end

-- A run that was never served comes before the others, by its position.
local function turn_of(id, served)
  if served and served ~= '0' then return served end
  return text(tonumber(redis.call('HGET', run_key(id), 'position')) - 4503599627370496)
end

local function offer(group, id)
  local place = redis.call('HMGET', place_key(group, id), 'dead', 'next', 'served')
  if place[1] == '1' or redis.call('ZSCORE', P .. ':leased:' .. group, id) then return end
  local run = redis.call('HMGET', run_key(id), 'next', 'first')
  if tonumber(run[1] or '0') > math.max(tonumber(place[2] or '0'), tonumber(run[2] or '0')) then
    redis.call('ZADD', P .. ':waiting:' .. group, turn_of(id, place[3]), id)
  end
end

-- A delivery whose lease has expired may wait for the next one.
local function leave(group, id)
  redis.call('ZREM', P .. ':leased:' .. group, id)
  redis.call('ZREM', P .. ':waiting:' .. group, id)
end

-- Returns the later epoch that the log knows, if there is one.
local function later_epoch(id, epoch)
  local known = redis.call('HGET', run_key(id), 'epoch')
  if known and tonumber(known) > tonumber(epoch) then return known end
  return nil
end

local function fence(id, epoch)
  if redis.call('HSET', run_key(id), 'epoch', epoch) == 1 then
    local position = count()
    redis.call('HSET', run_key(id), 'position', text(position), 'next', '0', 'ended', '0')
    redis.call('ZADD', P .. ':runs', text(position), id)
  end
end

-- The first event, and the texts, at most limit of them, and at most length bytes after the first one.
local function read_events(id, wanted, limit, length)
  local from = math.max(wanted, tonumber(redis.call('HGET', run_key(id), 'first') or '0'))
  local texts, bytes = {}, 0
  while #texts < limit do
    local first = from + #texts
    local entries = redis.call('XRANGE', events_key(id), text(first) .. '-1', '+', 'COUNT', math.min(32, limit - #texts))
    for _, entry in ipairs(entries) do
      bytes = bytes + #entry[2][2]
      if bytes > length and #texts > 0 then return from, texts end
      texts[#texts + 1] = entry[2][2]
    end
    if #entries == 0 then return from, texts end
  end
  return from, texts
end

-- The place of a delivery that is the run's latest.
local function latest(group, id, token)
  local key = place_key(group, id)
  local place = redis.call('HMGET', key, 'served', 'until', 'dead', 'attempts')
  if place[1] == token and place[2] and place[2] ~= '0' and place[3] ~= '1' then return key, place end
  return nil
end
`;

/** Marks scripts that free memory, or need almost none: Redis runs them even if its memory is full. */
const ALLOWED_WHEN_FULL = '#!lua flags=allow-oom\n';
const REFUSED_WHEN_FULL = '#!lua\n';
const READS_ONLY = '#!lua flags=no-writes,allow-oom\n';

/** ARGV: run, epoch. */
const open = `${REFUSED_WHEN_FULL}${SHARED}
local later = later_epoch(ARGV[1], ARGV[2])
if later then return {'stale', later} end
fence(ARGV[1], ARGV[2])
local run = redis.call('HMGET', run_key(ARGV[1]), 'next', 'ended')
return {'ok', run[1], run[2]}`;

/** ARGV: run, epoch, first seq, index of the event that ends the run or -1, texts. */
const publish = `${REFUSED_WHEN_FULL}${SHARED}
local id, epoch, first, end_index = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local later = later_epoch(id, epoch)
if later then return {'stale', later} end
local run = redis.call('HMGET', run_key(id), 'next', 'ended', 'first')
if not run[1] then return {'unknown'} end
local next_seq, total = tonumber(run[1]), #ARGV - 4
if first > next_seq then return {'gap', text(next_seq)} end
local known = math.min(next_seq - first, total)
-- Trimmed events are not compared.
for index = math.max(0, tonumber(run[3] or '0') - first), known - 1 do
  local seq = text(first + index) .. '-1'
  local entry = redis.call('XRANGE', events_key(id), seq, seq)[1]
  if not entry or entry[2][2] ~= ARGV[5 + index] then return {'conflict', text(next_seq), text(first + index)} end
end
if known < total and (run[2] == '1' or (end_index ~= -1 and end_index < total - 1)) then return {'ended'} end
fence(id, epoch)
if known == total then return {'ok'} end
for index = known, total - 1 do
  redis.call('XADD', events_key(id), text(first + index) .. '-1', 'event', ARGV[5 + index])
end
redis.call('HSET', run_key(id), 'next', text(first + total), 'ended', end_index == -1 and '0' or '1')
for _, group in ipairs(redis.call('SMEMBERS', P .. ':groups')) do offer(group, id) end
announce(id)
return {'ok'}`;

/** ARGV: run, from, limit, maximum bytes. Returns next, ended, first, texts. */
const read = `${READS_ONLY}${SHARED}
local run = redis.call('HMGET', run_key(ARGV[1]), 'next', 'ended')
if not run[1] then return {} end
local from, texts = read_events(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
return {run[1], run[2], text(from), texts}`;

/**
 * ARGV: group, lease in ms, limit, maximum bytes, now or nothing, maximum deliveries. Returns run, token, attempt,
 * from, next, texts.
 */
const receive = `${ALLOWED_WHEN_FULL}${SHARED}
local group, lease, now = ARGV[1], ARGV[2], tonumber(ARGV[5]) or clock()
local waiting, leased, dead = P .. ':waiting:' .. group, P .. ':leased:' .. group, P .. ':dead:' .. group
if redis.call('SADD', P .. ':groups', group) == 1 then
  for _, id in ipairs(redis.call('ZRANGE', P .. ':runs', 0, -1)) do offer(group, id) end
end
local function release(id)
  redis.call('ZREM', leased, id)
  offer(group, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', leased, '-inf', text(now))) do release(id) end
-- Leases from before the clock was set back.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', leased, '(' .. text(now), '+inf')) do
  local place = redis.call('HMGET', place_key(group, id), 'until', 'lease')
  if tonumber(place[1] or '0') > now + 2 * tonumber(place[2] or '0') then release(id) end
end
while true do
  local id = redis.call('ZRANGE', waiting, 0, 0)[1]
  if not id then return {} end
  redis.call('ZREM', waiting, id)
  local key = place_key(group, id)
  if tonumber(redis.call('HGET', key, 'attempts') or '0') >= tonumber(ARGV[6]) then
    redis.call('HSET', key, 'dead', '1', 'until', '0')
    redis.call('ZADD', dead, redis.call('HGET', run_key(id), 'position'), id)
  else
    local token = text(count())
    local attempt = redis.call('HINCRBY', key, 'attempts', 1)
    local ends = text(now + tonumber(lease))
    redis.call('HSET', key, 'served', token, 'until', ends, 'lease', lease)
    redis.call('ZADD', leased, ends, id)
    local wanted = tonumber(redis.call('HGET', key, 'next') or '0')
    local from, texts = read_events(id, wanted, tonumber(ARGV[3]), tonumber(ARGV[4]))
    return {id, token, attempt, text(from), redis.call('HGET', run_key(id), 'next'), texts}
  end
end`;

/** ARGV: group, run, token, next seq. */
const acknowledge = `${ALLOWED_WHEN_FULL}${SHARED}
local key = latest(ARGV[1], ARGV[2], ARGV[3])
if not key then return 0 end
redis.call('HSET', key, 'next', ARGV[4], 'attempts', '0', 'reason', '""', 'until', '0')
leave(ARGV[1], ARGV[2])
offer(ARGV[1], ARGV[2])
announce(ARGV[2])
return 1`;

/** ARGV: group, run, token, reason as JSON, maximum deliveries. */
const reject = `${ALLOWED_WHEN_FULL}${SHARED}
local group, id = ARGV[1], ARGV[2]
local key, place = latest(group, id, ARGV[3])
if not key then return 0 end
local is_dead = tonumber(place[4]) >= tonumber(ARGV[5])
redis.call('HSET', key, 'reason', ARGV[4], 'until', '0', 'dead', is_dead and '1' or '0')
leave(group, id)
if is_dead then
  redis.call('ZADD', P .. ':dead:' .. group, redis.call('HGET', run_key(id), 'position'), id)
else
  offer(group, id)
end
announce(id)
return 1`;

/** ARGV: group, position, limit. Returns for each dead letter its position, its run, its next seq and its reason. */
const deadLetters = `${READS_ONLY}${SHARED}
local rows = {}
local found = redis.call('ZRANGEBYSCORE', P .. ':dead:' .. ARGV[1], '(' .. ARGV[2], '+inf', 'LIMIT', 0, ARGV[3])
for _, id in ipairs(found) do
  local place = redis.call('HMGET', place_key(ARGV[1], id), 'next', 'reason')
  rows[#rows + 1] = {redis.call('HGET', run_key(id), 'position'), id, place[1] or '0', place[2] or '""'}
end
return rows`;

/** ARGV: group, run. */
const revive = `${ALLOWED_WHEN_FULL}${SHARED}
local group, id = ARGV[1], ARGV[2]
if redis.call('ZREM', P .. ':dead:' .. group, id) == 0 then return 0 end
redis.call('HSET', place_key(group, id), 'dead', '0', 'attempts', '0', 'reason', '""', 'until', '0')
offer(group, id)
announce(id)
return 1`;

/**
 * ARGV: group, limit. Returns the number of runs with unhandled events, the number of dead letters, and the first
 * unhandled event of some runs.
 */
const lag = `${READS_ONLY}${SHARED}
local group, limit = ARGV[1], tonumber(ARGV[2])
local ids, count = {}, 0
if redis.call('SISMEMBER', P .. ':groups', group) == 1 then
  for _, set in ipairs({':leased:', ':waiting:'}) do
    count = count + redis.call('ZCARD', P .. set .. group)
    for _, id in ipairs(redis.call('ZRANGE', P .. set .. group, 0, limit - 1)) do ids[#ids + 1] = id end
  end
else
  for _, id in ipairs(redis.call('ZRANGE', P .. ':runs', 0, -1)) do
    if redis.call('HGET', run_key(id), 'next') ~= '0' then count, ids[#ids + 1] = count + 1, id end
  end
end
local texts = {}
for index = 1, math.min(#ids, 2 * limit) do
  local from = redis.call('HGET', place_key(group, ids[index]), 'next') or '0'
  local _, events = read_events(ids[index], tonumber(from), 1, 0)
  texts[#texts + 1] = events[1]
end
return {count, redis.call('ZCARD', P .. ':dead:' .. group), texts}`;

/** ARGV: position, limit. Returns for each run its position, its id, its next seq and whether it has ended. */
const list = `${READS_ONLY}${SHARED}
local rows = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. ':runs', '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])) do
  local run = redis.call('HMGET', run_key(id), 'position', 'next', 'ended')
  rows[#rows + 1] = {run[1], id, run[2], run[3]}
end
return rows`;

/** ARGV: run, seq, epoch. Deletes the events before seq. */
const trim = `${ALLOWED_WHEN_FULL}${SHARED}
local id = ARGV[1]
local run = redis.call('HMGET', run_key(id), 'next', 'first')
if not run[1] or later_epoch(id, ARGV[3]) then return 0 end
local first = math.min(tonumber(ARGV[2]), tonumber(run[1]))
if first <= tonumber(run[2] or '0') then return 0 end
redis.call('HSET', run_key(id), 'first', text(first))
redis.call('XTRIM', events_key(id), 'MINID', text(first) .. '-1')
for _, group in ipairs(redis.call('SMEMBERS', P .. ':groups')) do
  redis.call('ZREM', P .. ':waiting:' .. group, id)
  offer(group, id)
end
return 1`;

/** ARGV: run, epoch. */
const remove = `${ALLOWED_WHEN_FULL}${SHARED}
local id = ARGV[1]
if later_epoch(id, ARGV[2]) then return 0 end
redis.call('DEL', run_key(id), events_key(id))
redis.call('ZREM', P .. ':runs', id)
for _, group in ipairs(redis.call('SMEMBERS', P .. ':groups')) do
  redis.call('DEL', place_key(group, id))
  for _, set in ipairs({':waiting:', ':leased:', ':dead:'}) do redis.call('ZREM', P .. set .. group, id) end
end
announce(id)
return 1`;

/** Shows that Redis can be written. */
const write = `${REFUSED_WHEN_FULL}${SHARED}
redis.call('SET', P .. ':written', '1')
return 1`;

/**
 * Tries each command that a log needs. Returns the commands that the user may not use. Later calls report other errors.
 */
const probe = `${ALLOWED_WHEN_FULL}${SHARED}
local stream, hash, sorted, set, value = P .. ':probe:1', P .. ':probe:2', P .. ':probe:3', P .. ':probe:4', P .. ':probe:5'
local denied = {}
local function try(...)
  local arg = {...}
  local reply = redis.pcall(...)
  local fault = type(reply) == 'table' and reply.err or ''
  if string.find(fault, "can't", 1, true) or string.find(fault, 'NOPERM', 1, true) then denied[#denied + 1] = arg[1] end
end
try('DEL', stream, hash, sorted, set, value)
try('TIME')
try('EXISTS', value)
try('SET', value, '1')
try('INCR', value)
try('XADD', stream, '*', 'probe', '1')
try('XRANGE', stream, '-', '+')
try('XREVRANGE', stream, '+', '-')
try('XTRIM', stream, 'MINID', '0')
try('XREAD', 'STREAMS', stream, '0')
try('HSET', hash, 'probe', '1')
try('HGET', hash, 'probe')
try('HMGET', hash, 'probe')
try('HINCRBY', hash, 'probe', 1)
try('ZADD', sorted, '1', 'probe')
try('ZSCORE', sorted, 'probe')
try('ZRANGE', sorted, 0, 0)
try('ZRANGEBYSCORE', sorted, '-inf', '+inf')
try('ZREM', sorted, 'probe')
try('SADD', set, 'probe')
try('SMEMBERS', set)
try('SISMEMBER', set, 'probe')
try('ZCARD', sorted)
redis.pcall('DEL', stream, hash, sorted, set, value)
return denied`;

export const REDIS_SCRIPTS = {
  probe,
  open,
  publish,
  read,
  receive,
  acknowledge,
  reject,
  deadLetters,
  revive,
  lag,
  list,
  trim,
  remove,
  write,
} as const;

export type RedisScriptName = keyof typeof REDIS_SCRIPTS;
