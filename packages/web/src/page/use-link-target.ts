import { useEffect } from 'react';
import type { LinkTarget } from '../state/route.ts';
import type { Selection } from '../state/selection.ts';
import { useSession } from '../state/session.ts';
import { calledIn, type FoundCall } from '../view/called-in.ts';
import type { ThreadState } from './use-thread.ts';

type Linked = Pick<ThreadState, 'thread' | 'feeds' | 'runs' | 'earlierRuns' | 'showEarlier'>;

/** Reads the turn that the address names, even if it is an early one, and selects the named call. */
export function useLinkTarget(state: Linked, target: LinkTarget | undefined, select: Selection['select']): void {
  const { notice } = useSession();
  const { thread, feeds, runs, earlierRuns, showEarlier } = state;
  const { runId, callId } = target ?? {};
  const feed = feeds.find((each) => each.runId === runId);
  const isEarlier = runId !== undefined && feed === undefined && runs.some((run) => run.runId === runId);
  const isMissing = runId !== undefined && thread !== undefined && !runs.some((run) => run.runId === runId);
  useEffect(() => {
    if (isEarlier) showEarlier();
  }, [isEarlier, earlierRuns]);
  useEffect(() => {
    if (isMissing) notice.set('The link names a turn that is not in this conversation.');
  }, [isMissing, notice]);
  useEffect(() => {
    if (feed === undefined || callId === undefined) return undefined;
    const look = (): boolean => {
      const found: FoundCall | undefined = calledIn(feed.store.value.view, callId);
      if (found === undefined) return false;
      select(found.call, found.script, feed.runId);
      return true;
    };
    if (look()) return undefined;
    const stop = feed.store.subscribe(() => {
      if (look()) stop();
    });
    return stop;
  }, [feed, callId, target]);
}
