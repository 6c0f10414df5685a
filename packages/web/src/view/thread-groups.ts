export interface DatedThread {
  readonly threadId: string;
  /** The time of the last change, in ms since 1970. */
  readonly updatedAt: number;
}

export interface ThreadGroup<Thread> {
  readonly title: string;
  readonly threads: readonly Thread[];
}

const DAY_MS = 86_400_000;

/** Groups threads by the day of their last change, newest first; those that wait for the user come first. */
export function groupThreads<Thread extends DatedThread>(
  threads: readonly Thread[],
  waiting: ReadonlySet<string>,
  now: number,
): ThreadGroup<Thread>[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const dayTitle = ({ threadId, updatedAt }: Thread) => {
    if (waiting.has(threadId)) return 'Waiting for you';
    if (updatedAt >= midnight) return 'Today';
    if (updatedAt >= midnight - DAY_MS) return 'Yesterday';
    return updatedAt >= midnight - 6 * DAY_MS ? 'Last 7 days' : 'Earlier';
  };
  return ['Waiting for you', 'Today', 'Yesterday', 'Last 7 days', 'Earlier']
    .map((title) => ({ title, threads: threads.filter((thread) => dayTitle(thread) === title) }))
    .filter((group) => group.threads.length > 0);
}
