import type {
  SandboxCall,
  SandboxObserver,
  SandboxRuntime,
  SandboxSegment,
  Settlement,
} from '../../src/protocol/index.js';

/** One segment as a guest could send it if it controlled its sandbox; omitted members are empty. */
export type Told = Partial<SandboxSegment>;

export interface UntrueRuntime extends SandboxRuntime {
  /** The number of starts of a script. */
  readonly runs: () => number;
  readonly settled: readonly Settlement[];
}

/** A runtime that sends the messages of a test for any script: one for each segment of each run. */
export function untrueRuntime(tell: (segment: number, run: number) => Told): UntrueRuntime {
  let runs = 0;
  const settled: Settlement[] = [];
  const stats = { workers: 0, running: 0, waiting: 0, completed: 0, instancesDropped: 0, workersReplaced: 0, moved: 0 };
  return {
    name: 'untrue',
    runs: () => runs,
    settled,
    warm: () => Promise.resolve(),
    close: () => Promise.resolve(),
    stats: () => stats,
    run(_job, observer) {
      const run = ++runs;
      let segment = 0;
      let isCancelled = false;
      const next = () => setImmediate(() => !isCancelled && observer.onSegment(whole(tell(segment++, run))));
      setImmediate(() => observer.onStart());
      next();
      return {
        settle(settlements) {
          settled.push(...settlements);
          next();
        },
        cancel(reason) {
          isCancelled = true;
          endLater(observer, reason);
        },
      };
    },
  };
}

/** A call to a tool, as a segment reports it. */
export function callOf(callIndex: number, name: string, args: unknown = {}): SandboxCall {
  return { callIndex, name, argsJson: JSON.stringify(args), line: 1, column: 1 };
}

export const RETURNED: Told = { end: { type: 'returned', json: '1', unhandled: [] } as never };

function endLater(observer: SandboxObserver, reason: 'cancelled' | 'timeout'): void {
  setImmediate(() => observer.onSegment(whole({ end: { type: 'cancelled', reason } })));
}

function whole(told: Told): SandboxSegment {
  return {
    calls: [],
    logs: [],
    output: '',
    progress: [],
    dropped: { logs: 0, progress: 0 },
    unobservable: [],
    computeMs: 1,
    memoryBytes: 0,
    compilationCacheHit: true,
    ...told,
  };
}
