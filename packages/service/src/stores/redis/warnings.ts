/** The share of the maximum memory beyond which a warning appears. */
const NEAR_LIMIT = 0.85;

/** The settings and states of a Redis server that endanger events, each with its fix. */
export function redisWarnings(persistence: ReadonlyMap<string, string>, memory: ReadonlyMap<string, string>): string[] {
  const warnings: string[] = [];
  if (persistence.get('aof_enabled') === '0')
    warnings.push(
      'Redis does not write its append-only file, so a restart loses live events. Set "appendonly yes" in redis.conf.',
    );
  if (persistence.get('aof_last_write_status') === 'err')
    warnings.push('Redis cannot write its append-only file. Free space on its disk.');
  const policy = memory.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction')
    warnings.push(`Redis may delete events when its memory is full ("${policy}"). Set "maxmemory-policy noeviction".`);
  const [used, limit] = [Number(memory.get('used_memory') ?? 0), Number(memory.get('maxmemory') ?? 0)];
  if (limit > 0 && used > NEAR_LIMIT * limit)
    warnings.push(
      `Redis uses ${Math.round((100 * used) / limit)} % of its memory. When it is full, runs stop. Raise maxmemory.`,
    );
  return warnings;
}
