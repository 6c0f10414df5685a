import type { OutcomeMetadata, SandboxSegment } from '../protocol/index.js';
import { roundMs } from './final-operations.js';
import type { SessionOptions } from './session-options.js';
import type { SpentSoFar } from './suspended-script.js';
import { WallClock } from './wall-clock.js';

type UsageOptions = Pick<SessionOptions, 'limits' | 'earlier' | 'cacheHit' | 'runtime'>;

/** The time and memory that one script uses, over all processes in which it has run. */
export class SessionUsage {
  readonly clock: WallClock;
  readonly #options: UsageOptions;
  /** On the monotonic clock. */
  readonly #startedAt: number;
  #computeMs: number;
  #memoryBytes: number;
  #compilationCacheHit: boolean;

  constructor(options: UsageOptions, onTimeout: () => void) {
    const spent = options.earlier?.spent;
    const sleptMs = spent === undefined ? 0 : Math.max(0, Date.now() - spent.atMs);
    this.#options = options;
    this.#startedAt = performance.now() - (spent === undefined ? 0 : spent.elapsedMs + sleptMs);
    this.clock = new WallClock(
      remainingWallMs(options),
      onTimeout,
      spent === undefined ? 0 : spent.wall.pausedMs + sleptMs,
    );
    this.#computeMs = spent?.computeMs ?? 0;
    this.#memoryBytes = spent?.memoryBytes ?? 0;
    this.#compilationCacheHit = spent?.compilationCacheHit ?? true;
  }

  /** Since the script's start. */
  nowMs(): number {
    return performance.now() - this.#startedAt;
  }

  note({ computeMs, memoryBytes, compilationCacheHit }: SandboxSegment): void {
    this.#computeMs += computeMs;
    this.#memoryBytes = Math.max(this.#memoryBytes, memoryBytes);
    this.#compilationCacheHit &&= compilationCacheHit;
  }

  spent(guestClockMs: number): SpentSoFar {
    return {
      wall: this.clock.reading(),
      elapsedMs: this.nowMs(),
      atMs: Date.now(),
      guestClockMs,
      computeMs: this.#computeMs,
      memoryBytes: this.#memoryBytes,
      cacheHit: this.#options.cacheHit,
      compilationCacheHit: this.#compilationCacheHit,
    };
  }

  metadata(durationMs: number, toolCallsMade: number): OutcomeMetadata {
    return {
      durationMs: roundMs(durationMs),
      computeMs: roundMs(this.#computeMs),
      approvalWaitMs: Math.round(this.clock.pausedMs()),
      toolCallsMade,
      memoryUsedMb: roundMs(this.#memoryBytes / 1_048_576),
      cacheHit: this.#options.cacheHit,
      compilationCacheHit: this.#compilationCacheHit,
      runtime: this.#options.runtime.name,
    };
  }
}

/** The rest of the wall clock. The limit may be lower than before the suspension. */
function remainingWallMs({ limits: { timeoutMs }, earlier }: UsageOptions): number {
  if (earlier?.spent === undefined) return timeoutMs;
  return earlier.spent.wall.remainingMs - (earlier.limits.timeoutMs - timeoutMs);
}
