import { isFinalRunState } from '@toolscript/core/internal';
import type { EventLog, Run, ServiceStores } from '@toolscript/core/protocol';
import { HeldRun } from './held-run.js';
import { LEASE_MS, liveHolder, ownClaim } from './run-owner.js';

interface StopParts {
  readonly stores: ServiceStores;
  readonly log: EventLog;
}

/**
 * Cancels a run. Ends it at once if no process holds it; otherwise its holder ends it when it renews its lease. Returns
 * the run as it is then; undefined if there is no such run.
 */
export async function stopRun({ stores, log }: StopParts, runId: string): Promise<Run | undefined> {
  const { runs } = stores;
  const asked = await runs.requestCancel(runId);
  if (asked === undefined || isFinalRunState(asked.state)) return asked;
  if (asked.state === 'running') {
    if (liveHolder(asked) !== undefined) return asked;
    await runs.release({ runId, epoch: asked.epoch }, { isDead: true });
  }
  const claimed = await runs.claim({ ...ownClaim(), runId });
  if (claimed === undefined) return runs.get(runId);
  const held = await HeldRun.open({ stores, log, run: claimed.run, leaseMs: LEASE_MS });
  held.stop('cancelled');
  if (held.state.nextSeq === 0) held.emit({ type: 'response_start' });
  for (const payload of held.state.missingEnd('cancelled')) held.emit(payload);
  await held.end();
  return runs.get(runId);
}
