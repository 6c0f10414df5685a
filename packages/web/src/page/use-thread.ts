import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { StreamEvent, Thread, ThreadSummary } from '@toolscript/client';
import { RunFeed } from '../state/run-feed.ts';
import { useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import type { RunStage } from '../view/conversation-state.ts';
import type { MessageItem } from '../view/types.ts';
import { useRunStages, type ThreadRun } from './use-run-stages.ts';

/** The number of runs whose events are read at first. Earlier runs are read on demand. */
const FIRST_RUNS = 12;

/** The time in ms after which a hidden tab closes its connections. */
const HIDDEN_MS = 20_000;

/** The time in ms after which a thread that the list lacks is read again. */
const MISSING_MS = 2_000;

export interface ThreadState {
  readonly thread: Thread | undefined;
  readonly error: unknown;
  /** The runs on the screen, oldest first. */
  readonly feeds: readonly RunFeed[];
  /** All runs, oldest first. */
  readonly runs: readonly ThreadRun[];
  /** The stage of each of `runs`. */
  readonly stages: readonly RunStage[];
  /** The user's messages of each run, as the server has them. */
  readonly messages: ReadonlyMap<string, readonly MessageItem[]>;
  readonly earlierRuns: number;
  readonly showEarlier: () => void;
  /** Reads the thread again. */
  readonly reload: () => void;
  /** Follows a run that was just submitted. */
  readonly follow: (runId: string) => void;
}

/** A conversation, and a feed for each of its newest runs. */
export function useThread(threadId: string): ThreadState {
  const { client, approvals, threads } = useSession();
  const [shown, setShown] = useState(FIRST_RUNS);
  const [added, setAdded] = useState<readonly string[]>([]);
  const feeds = useRef(new Map<string, RunFeed>());
  const [visible, setVisible] = useState<readonly RunFeed[]>([]);
  const onEvent = useCallback(
    ({ payload, timestamp }: StreamEvent) => {
      const isRecent = Date.now() - timestamp < 60_000;
      if (isRecent && (payload.type === 'response_done' || payload.type === 'approval_resolved')) {
        void approvals.refresh();
        void threads.refresh();
      }
    },
    [approvals, threads],
  );
  const { thread, error, reload } = useFoundThread(threadId);
  const runs = useMemo(() => threadRuns(thread, added), [thread, added]);
  const messages = useMemo(() => userMessages(thread), [thread]);
  const runIds = runs.map(({ runId }) => runId);
  const stages = useRunStages(runs, visible);
  const key = runIds.slice(-shown).join();
  useEffect(() => {
    const wanted = key === '' ? [] : key.split(',');
    for (const runId of wanted) {
      if (feeds.current.has(runId)) continue;
      const feed = new RunFeed(client, runId, onEvent);
      feeds.current.set(runId, feed);
      void feed.start();
    }
    setVisible(wanted.map((runId) => feeds.current.get(runId)!));
  }, [client, key, onEvent]);
  usePausesWhileHidden(feeds.current);
  useEffect(() => {
    const open = feeds.current;
    return () => {
      for (const feed of open.values()) feed.stop();
      open.clear();
    };
  }, []);
  return {
    thread,
    error,
    feeds: visible,
    runs,
    stages,
    messages,
    earlierRuns: Math.max(0, runIds.length - shown),
    showEarlier: () => setShown((before) => before + FIRST_RUNS * 2),
    reload,
    follow: (runId) => setAdded((before) => [...before, runId]),
  };
}

function threadRuns(thread: Thread | undefined, added: readonly string[]): ThreadRun[] {
  const stored = thread?.runs ?? [];
  const fresh = added.filter((runId) => !stored.some((run) => run.runId === runId));
  return [
    ...stored.map((run) => ({ runId: run.runId, stored: run })),
    ...fresh.map((runId) => ({ runId, stored: undefined })),
  ];
}

function userMessages(thread: Thread | undefined): ReadonlyMap<string, readonly MessageItem[]> {
  const messages = new Map<string, readonly MessageItem[]>();
  let at = 0;
  for (const { runId, itemCount } of thread?.runs ?? []) {
    const items = thread!.items.slice(at, at + itemCount);
    messages.set(
      runId,
      items.filter((item) => item.type === 'message').filter(({ role }) => role === 'user'),
    );
    at += itemCount;
  }
  return messages;
}

function usePausesWhileHidden(feeds: ReadonlyMap<string, RunFeed>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = () => {
      clearTimeout(timer);
      if (document.hidden)
        timer = setTimeout(() => {
          for (const feed of feeds.values()) feed.pause();
        }, HIDDEN_MS);
      else for (const feed of feeds.values()) feed.resume();
    };
    document.addEventListener('visibilitychange', onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onChange);
    };
  }, [feeds]);
}

/** The thread on the server, read again after each change. */
function useFoundThread(threadId: string): Pick<ThreadState, 'thread' | 'error' | 'reload'> {
  const { client, threads, search } = useSession();
  const [thread, setThread] = useState<Thread>();
  const [error, setError] = useState<unknown>();
  const [reloads, setReloads] = useState(0);
  const list = useStore(threads.store).value?.threads;
  // Another tab, or the terminal, may have added a run.
  const updatedAt = list?.find((listed) => listed.threadId === threadId)?.updatedAt;
  const isComplete = useStore(search) === '';
  const isMissing = isComplete && updatedAt === undefined && belongsIn(list, thread);
  const reads = useReadsWhile(isMissing && error === undefined);
  useEffect(() => {
    const stop = new AbortController();
    client.threads.get(threadId, {}, { signal: stop.signal }).then(
      (found) => {
        setThread(found);
        setError(undefined);
      },
      (failure: unknown) => {
        if (!stop.signal.aborted) setError(failure);
      },
    );
    return () => stop.abort();
  }, [client, threadId, updatedAt, reads, reloads]);
  const reload = useCallback(() => setReloads((before) => before + 1), []);
  return { thread, error, reload };
}

/** Returns true if a complete list of the newest threads contains the thread. */
function belongsIn(list: readonly ThreadSummary[] | undefined, thread: Thread | undefined): boolean {
  return list !== undefined && thread !== undefined && thread.updatedAt > (list.at(-1)?.updatedAt ?? 0);
}

/** Counts up at intervals. A thread that the list lacks was deleted, perhaps before the list was read, or is very new. */
function useReadsWhile(isMissing: boolean): number {
  const [reads, setReads] = useState(0);
  useEffect(() => {
    if (!isMissing) return;
    const timer = setInterval(() => setReads((before) => before + 1), MISSING_MS);
    return () => clearInterval(timer);
  }, [isMissing]);
  return reads;
}
