import type { SessionServices } from '../../calls/session/index.js';
import type { ProcessSuspensions } from './process-suspensions.js';
import type { Keeping } from './store-journal.js';
import type { SuspensionSeal } from './suspension-envelope.js';

/** The services of a harness that save its scripts. */
export interface DurabilityServices extends Pick<SessionServices, 'runtime'> {
  /** Undefined: the harness has no store. */
  keeping: Keeping | undefined;
  /** The suspended scripts of a harness without a store. */
  inProcess: ProcessSuspensions | undefined;
  /** Engines and images that are being saved, by name. */
  keepingImages: Map<string, Promise<void>>;
  seal: SuspensionSeal;
  onInternalError: ((detail: string, ids: { scriptId: string }) => void) | undefined;
}

export function reportInternalError(
  { onInternalError }: Pick<DurabilityServices, 'onInternalError'>,
  scriptId: string,
  detail: string,
): void {
  try {
    onInternalError?.(detail, { scriptId });
  } catch {
    // The operator's listener failed; the run continues.
  }
}

/** Returns a message about a failure of the store, for the operator. */
export function storeFailure(error: unknown): string {
  return `The store failed: ${String(error)}. Check the disk or the database of the store.`;
}
