import type { Usage } from '../protocol/index.js';
import type { Prices } from './agent-config.js';

const MILLION = 1_000_000;

/**
 * What tokens cost, in US dollars. Some formats count what came from the cache as input and some do not; the total
 * tells them apart.
 */
export function costOf(usage: Usage, { input, output, cacheRead = input, cacheWrite = input }: Prices): number {
  const read = figure(usage.cache_read_tokens);
  const written = figure(usage.cache_write_tokens);
  const fresh =
    usage.total_tokens === undefined
      ? usage.input_tokens
      : Math.max(0, usage.total_tokens - usage.output_tokens - read - written);
  return (fresh * input + read * cacheRead + written * cacheWrite + usage.output_tokens * output) / MILLION;
}

function figure(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
