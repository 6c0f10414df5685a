import type { GuestThrow, SandboxEnd, SandboxLimits } from '../../protocol/index.js';
import type { ImageHeader } from '../quickjs/image.js';
import type { SlotCell, SlotHeap, SlotSnapshot } from '../quickjs/slot.js';
import type { WasmModule } from '../quickjs/webassembly.js';
import type { ExecuteArtefacts } from './artefacts.js';

/** The first message to a worker. All workers share the module and the contents of the images. */
export interface WorkerBirth {
  module: WasmModule;
  execute: { header: ImageHeader; content: Uint8Array };
  compile: { header: ImageHeader; content: Uint8Array };
  /** See `Control`. */
  control: SharedArrayBuffer;
  bytecodeCacheSize: number;
  toolsCacheSize: number;
}

/**
 * A command to a worker. One message carries all commands of a tick; reports are joined in the same way. Lists are sent
 * faster than objects.
 */
export type WorkerCommand =
  | [type: 'run', run: number, start: RunStart]
  /** The worker answers with `restored`, with `refused` or with an end. */
  | [type: 'restore', run: number, start: RunRestore]
  | [type: 'settle', run: number, batchJson: string, settled: number[], clockMs: number, wallMs: number]
  /**
   * The worker answers with `captured`. If the answer has a snapshot, the run has ended; otherwise the run continues.
   */
  | [type: 'capture', run: number]
  /**
   * The run has ended for the host, which ignores further output of the script. `isBroken`: its guest broke a rule, and
   * its instance is never used again. The worker answers with `released`.
   */
  | [type: 'drop', run: number, isBroken: boolean];

export interface RunStart {
  slot: number;
  sha256: string;
  /** Omitted if the worker has already compiled the script; see `WorkerLedger`. */
  javascript: string | undefined;
  initText: string;
  texts: SentTexts;
  clockMs: number;
  wallMs: number;
  /** Maximum time for which the script may compute while others wait for the thread, in ms. */
  sliceMs: number;
  /** Omitted if the limits are the same as in the last `run` command that had limits. */
  limits: SandboxLimits | undefined;
  /** Omitted if the script does not belong to a program. */
  cell?: (SlotCell & { maxMemoryBytes: number; /** See `RecentHeaps`. */ heapKey: string }) | undefined;
}

/** See `GuestTexts`. */
export interface SentTexts {
  /** Identifies the tools' names. */
  toolsKey: string;
  /** Omitted if the worker already has these names; see `WorkerLedger`. */
  toolNames: readonly string[] | undefined;
  contextJson: string;
  positions: string;
}

export interface RunRestore {
  slot: number;
  snapshot: SlotSnapshot;
  texts: SentTexts;
  sliceMs: number;
  limits: SandboxLimits;
  maxMemoryBytes: number;
  /** Engine and image, if the snapshot belongs to another version. */
  other: ExecuteArtefacts | undefined;
  isCell: boolean;
}

/**
 * A worker's report of one segment, or its answer to a command that runs no segment. The report is a list, because
 * sending an object with names costs several times as much; rare members are in `rest`.
 */
export type WorkerReport = [
  run: number,
  /** See `ReportKind`. */
  kind: number,
  /** The guest's outbox in its frame (see `quickjs/outbox.ts`); empty if the guest wrote nothing. */
  text: string,
  computeMs: number,
  memoryBytes: number,
  rest?: ReportRest,
];

export const ReportKind = {
  /** The run has ended. */
  ended: 1,
  /** The report answers `drop`: the run no longer holds a slot. No other report has this kind. */
  released: 2,
  /** The worker did not have to compile the script. */
  cacheHit: 4,
  /** The report answers `restore`, and the guest waits for settlements. No other report has this kind. */
  restored: 8,
  /** The report answers `capture`. No other report has this kind. */
  captured: 16,
  /** The segment was discarded so that other scripts on this thread can run; the run no longer holds a slot. */
  moved: 32,
  /**
   * The report answers `run` or `restore`: the system has no memory for a sandbox, and the run no longer holds a slot.
   */
  refused: 64,
} as const;

export interface ReportRest {
  end: SandboxEnd | undefined;
  unhandled: readonly GuestThrow[];
  unobservable: readonly number[];
  /**
   * The number of instances that this worker has dropped so far, their bytes, and the growth of its live instances in
   * bytes.
   */
  dropped: number;
  droppedBytes: number;
  grownBytes: number;
  snapshot?: SlotSnapshot | undefined;
  heap?: SlotHeap | undefined;
  /** The reason why a run was refused. */
  detail?: string | undefined;
}
