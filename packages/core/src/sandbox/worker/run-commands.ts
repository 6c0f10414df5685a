import { writeInit } from './guest-messages.js';
import type { LiveRun, Origin } from './live-run.js';
import type { RunRestore, RunStart } from './messages.js';
import type { WorkerThread } from './worker-thread.js';

/** A script that computes for this long while others share its worker is moved to the slow lane. */
const SLICE_MS = 10;

/** Sends a worker all commands that lead to the run's state: its start or its captured memory, and its tape. */
export function sendRun(run: LiveRun, worker: WorkerThread, maxMemoryBytes: number): void {
  run.outstanding = 1 + run.tape.length;
  worker.segmentLimits.set(run.key, run.wallMs);
  if (run.origin === undefined) worker.send(['run', run.key, startOf(run, worker)]);
  else worker.send(['restore', run.key, restoreOf(run, run.origin, maxMemoryBytes)]);
  for (const { batchJson, settled, clockMs } of run.tape)
    worker.send(['settle', run.key, batchJson, settled, clockMs, run.wallMs]);
  if (run.capturing !== undefined) worker.send(['capture', run.key]);
}

/** Sends the worker the last entry of the run's tape. */
export function sendSettle(run: LiveRun, worker: WorkerThread): void {
  const { batchJson, settled, clockMs } = run.tape.at(-1)!;
  run.outstanding = 1;
  worker.segmentLimits.set(run.key, run.wallMs);
  worker.send(['settle', run.key, batchJson, settled, clockMs, run.wallMs]);
}

function restoreOf(run: LiveRun, { snapshot, other }: Origin, maxMemoryBytes: number): RunRestore {
  return { slot: run.slot, snapshot, sliceMs: sliceOf(run), limits: run.job.limits, maxMemoryBytes, other };
}

function startOf(run: LiveRun, worker: WorkerThread): RunStart {
  const { job } = run;
  return {
    slot: run.slot,
    sha256: job.sha256,
    javascript: worker.knows(job.sha256) ? undefined : job.javascript,
    initText: writeInit(job),
    clockMs: job.clockMs,
    wallMs: run.wallMs,
    sliceMs: sliceOf(run),
    limits: worker.isLastLimits(job.limits) ? undefined : job.limits,
  };
}

function sliceOf({ lane, sliceMs }: LiveRun): number {
  return lane === 'slow' ? sliceMs : SLICE_MS;
}
