import type { RequestStateCodec } from '@modelcontextprotocol/server';
import type { Harness, ImagePart } from '@toolscript/core';
import type { GatewayCaller } from './caller.js';
import type { PastScripts } from './past-scripts.js';

export interface GatewayOptions {
  /** Runs the scripts of clients. Its owner closes it. */
  readonly harness: Harness;
  /** Maximum tokens of the description of `run_script`, which shows as many tools as fit. Default 1 700. */
  readonly tokenBudget?: number;
  /** The owner of the scripts. */
  readonly principal?: string;
  /** The host's own context for tools. */
  readonly app?: unknown;
  /**
   * The instruction for clients that cannot ask their user: where users decide about suspended scripts, such as a
   * command or a page. Only for a harness with a store.
   */
  readonly howToDecide?: (scriptId: string) => string;
  /**
   * Maximum time that `resume_script` waits for a decision before it reports that there is none yet, in ms. Default 45
   * 000.
   */
  readonly resumeWaitMs?: number;
  /** Loads the bytes of images that tools return without data, like `mcp.loadImage`. */
  readonly loadImage?: (image: ImagePart) => Promise<{ bytes: Uint8Array }>;
  /** Signs the state that a client carries between the rounds of a call. Set it if several processes share clients. */
  readonly stateKey?: Uint8Array;
  /** Receives the folders of the client over standard input and output, as absolute paths, and every change of them. */
  readonly onRoots?: (roots: readonly string[]) => void;
  readonly serverInfo?: { readonly name: string; readonly version: string };
}

/**
 * The state that a client carries while its user decides. It is signed, and names only a script of this gateway and
 * its own approvals.
 */
export interface PendingState {
  readonly scriptId: string;
  readonly approvals: readonly string[];
}

/** The services that the handlers of one gateway share. */
export interface GatewayServices extends GatewayOptions, Pick<GatewayCaller, 'mayRun' | 'mayDecide'> {
  readonly state: RequestStateCodec<PendingState>;
  readonly past: PastScripts;
  /** The description of `run_script`: clients cache it. */
  readonly instructions: string;
}
