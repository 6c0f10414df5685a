/** Maximum characters of the suspensions that one harness stores: about 5 000 small scripts. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
const MAX_CLAIMS = 100_000;

/** The suspended scripts of a harness without a store, by id, so that the harness can resume these scripts by id. */
export class ProcessSuspensions {
  readonly #texts = new Map<string, string>();
  #characters = 0;

  /** Stores a suspension. Drops the oldest suspensions if there is no more room. */
  put(scriptId: string, text: string): void {
    this.delete(scriptId);
    this.#texts.set(scriptId, text);
    this.#characters += text.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#characters <= MAX_CHARACTERS || oldest === scriptId) return;
      this.delete(oldest);
    }
  }

  get(scriptId: string): string | undefined {
    return this.#texts.get(scriptId);
  }

  delete(scriptId: string): void {
    this.#characters -= this.#texts.get(scriptId)?.length ?? 0;
    this.#texts.delete(scriptId);
  }
}

/**
 * The next epoch of each script that was resumed without a store, by script id. All harnesses of the process share this
 * map.
 */
const claimedEpochs = new Map<string, number>();

/** Returns true if the caller is the first one in this process to resume this suspension. */
export function claimInProcess({ scriptId, epoch }: { scriptId: string; epoch: number }): boolean {
  // defence: one-resume-in-a-process
  if ((claimedEpochs.get(scriptId) ?? 0) > epoch) return false;
  claimedEpochs.delete(scriptId);
  claimedEpochs.set(scriptId, epoch + 1);
  const [oldest] = claimedEpochs.keys();
  if (claimedEpochs.size > MAX_CLAIMS && oldest !== undefined) claimedEpochs.delete(oldest);
  return true;
}

/** Whether a suspension of the script was resumed in this process. */
export function wasResumedInProcess(scriptId: string): boolean {
  return claimedEpochs.has(scriptId);
}
