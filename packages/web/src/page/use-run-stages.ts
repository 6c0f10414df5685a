import { useCallback, useSyncExternalStore } from 'react';
import type { RunFeed } from '../state/run-feed.ts';
import { runStage, type RunStage } from '../view/conversation-state.ts';
import type { StoredRun } from '../view/types.ts';

export interface ThreadRun {
  readonly runId: string;
  /** The run as the server has it; undefined if it was just submitted. */
  readonly stored: StoredRun | undefined;
}

/** The stages of all runs of a conversation, in their order. The feeds have the newest of them. */
export function useRunStages(runs: readonly ThreadRun[], feeds: readonly RunFeed[]): readonly RunStage[] {
  const subscribe = useCallback(
    (listener: () => void) => {
      const ends = feeds.map((feed) => feed.store.subscribe(listener));
      return () => {
        for (const end of ends) end();
      };
    },
    [feeds],
  );
  const read = () => {
    const views = new Map(feeds.map((feed) => [feed.runId, feed.store.value.view]));
    return runs.map(({ runId, stored }) => runStage({ stored, view: views.get(runId) })).join(',');
  };
  const stages = useSyncExternalStore(subscribe, read);
  return stages === '' ? [] : (stages.split(',') as RunStage[]);
}
