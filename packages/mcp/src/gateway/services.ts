import type { RequestStateCodec } from '@modelcontextprotocol/server';
import type { ApprovalRequest, Harness, ImagePart } from '@toolscript/core';
import type { NoticeOptions } from '../servers/options.js';
import type { GatewayCaller } from './caller.js';
import type { GatewayOffer } from './descriptions.js';
import type { PastScripts } from './past-scripts.js';
import type { SuggestedRule } from './suggested-rule.js';

export interface GatewayOptions {
  /** Runs the scripts of clients. Its owner closes it. */
  readonly harness: Harness;
  /** The owner of the scripts. */
  readonly principal?: string | undefined;
  /** The host's own context for tools. */
  readonly app?: unknown;
  /**
   * Returns where users decide about a suspended script, such as a command or a page. Clients that cannot ask their
   * user receive this text. Only for a harness with a store.
   */
  readonly howToDecide?: ((scriptId: string) => string) | undefined;
  /**
   * Returns the rule that a user may choose instead of one approval; undefined if no rule can express the call. Default:
   * the question offers no rule.
   */
  readonly suggestRule?: ((call: ApprovalRequest) => SuggestedRule | undefined) | undefined;
  /**
   * Maximum time that `resume_script` waits for a decision before it reports that there is none yet, in ms. Default 45
   * 000.
   */
  readonly resumeWaitMs?: number | undefined;
  /**
   * A client that declines a question within this time, in ms, has no user: the call stays undecided. Default 1 000.
   */
  readonly instantMs?: number | undefined;
  /**
   * The time in ms after which `run_script` and `wait_script` answer that their script still runs. Default 45 000,
   * because clients give up after 60 s.
   */
  readonly yieldAfterMs?: number | undefined;
  /** The time in ms after which a client hears that its script still runs, if nothing else is reported. Default 10 000. */
  readonly progressMs?: number | undefined;
  /**
   * Returns a sentence for each reason why tools are missing, such as `McpServers.notices`. Models read them where they
   * look for tools, and after a script that names an unknown tool.
   */
  readonly notices?: ((options?: NoticeOptions) => readonly string[]) | undefined;
  /**
   * Awaited before tools are searched or described and before scripts run, for example with `McpServers.ready`, so that
   * the gateway itself can be served before its tools are complete.
   */
  readonly ready?: (() => Promise<void>) | undefined;
  /**
   * The texts that clients are shown until the first `refresh`: the result of `refresh` of an earlier gateway of the same tools.
   * With it, `ready` may add the tools to the harness. Default: made from the tools of the harness.
   */
  readonly offer?: GatewayOffer | undefined;
  /** Loads the bytes of images that tools return without data, for example with `McpServers.loadImage`. */
  readonly loadImage?: ((image: ImagePart) => Promise<{ bytes: Uint8Array }>) | undefined;
  /**
   * The key that signs the state that a client carries between the rounds of a call. Processes that share clients need
   * the same key. Default: a random key.
   */
  readonly stateKey?: Uint8Array | undefined;
  /**
   * Called with the folders of the client on standard input and output, as absolute paths, and again after each change.
   */
  readonly onRoots?: ((roots: readonly string[]) => void) | undefined;
  readonly serverInfo?: { readonly name: string; readonly version: string } | undefined;
}

/**
 * The state that a client carries while its user decides. The state is signed. It names only a script of this gateway
 * and the approvals of that script.
 */
export interface PendingState {
  readonly scriptId: string;
  readonly approvals: readonly string[];
  /** The time of the question, in ms since 1970. */
  readonly askedAtMs: number;
}

/** The services that the handlers for one caller share. */
export interface GatewayServices extends GatewayOptions, Pick<GatewayCaller, 'mayRun' | 'mayDecide' | 'mayRemember'> {
  readonly state: RequestStateCodec<PendingState>;
  readonly past: PastScripts;
  /** Returns what clients are shown. */
  readonly offered: () => GatewayOffer;
}

/** Claude Code shows its model only the names of a server's tools, unless each tool asks to be shown whole. */
export const SHOWN_WHOLE = { 'anthropic/alwaysLoad': true };
