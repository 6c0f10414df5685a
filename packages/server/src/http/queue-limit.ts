import type { StorageBounds } from '@toolscript/core/protocol';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import { tooMany } from './rate-limits.js';
import type { Service } from './service.js';

/** The delay that the server requests from a principal with too many queued runs, in s. */
const RETRY_S = 5;

/** The bounds of the principal's threads. Undefined for the machine's own user, who has none. */
export function storageBounds({ limits }: Service, principal: string): StorageBounds | undefined {
  if (principal === LOCAL_PRINCIPAL) return undefined;
  const { bytesPerThread, bytesPerPrincipal } = limits;
  return { bytesPerThread, bytesPerPrincipal };
}

/** Throws a problem with status 429 if too many runs of the principal wait in the queue. */
export async function refuseFullQueue({ stores, limits }: Service, principal: string): Promise<void> {
  if (principal === LOCAL_PRINCIPAL) return;
  const { queuedRunsPerPrincipal: limit } = limits;
  const { runs } = await stores.runs.list({ state: 'queued', principal, limit });
  // defence: queued-runs-of-a-principal
  if (runs.length >= limit) throw tooMany(`You have ${limit} runs in the queue, the maximum.`, RETRY_S);
}
