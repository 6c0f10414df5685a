import type { SandboxEnd } from '@toolscript/core/ports';

/*
 * Messages between the host and the child process, as JSON. The host checks every message that it reads, because a
 * script may have taken control of the child.
 */

export type ChildCommand =
  | readonly [type: 'run', run: number, start: IsolateStart]
  | readonly [type: 'settle', run: number, batchJson: string, clockMs: number, wallMs: number]
  /** The run is over for the host. The child answers with `dropped`. */
  | readonly [type: 'drop', run: number];

export interface IsolateStart {
  readonly javascript: string;
  /** The argument of the guest's `begin`; see core's `sandbox/worker/guest-messages.ts`. */
  readonly initText: string;
  /** JSON text of the script's `GuestTexts`; see `guest/main.ts`. */
  readonly textsJson: string;
  readonly clockMs: number;
  readonly wallMs: number;
  readonly computeMs: number;
  readonly memoryMb: number;
}

export type ChildReport =
  | readonly [type: 'ready']
  | readonly [type: 'failed', detail: string]
  /** `text`: the result of the guest's `flush`; see `guest/main.ts`. */
  | readonly [type: 'segment', run: number, text: string, figures: SegmentFigures]
  /** The isolate is ready, and the script's first segment starts. */
  | readonly [type: 'begun', run: number]
  /** None of the run's code runs any longer. */
  | readonly [type: 'dropped', run: number];

export interface SegmentFigures {
  readonly computeMs: number;
  readonly memoryBytes: number;
  /** The end of the script, if the child ended it. */
  readonly end?: SandboxEnd | undefined;
  /** Promises that were rejected in this segment and had no handler at its end. */
  readonly unhandled: readonly { readonly name: string; readonly message: string }[];
}
