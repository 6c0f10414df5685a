import { z } from 'zod';
import type { JsonValue } from './json.js';
import type { KnownMembers } from './known-members.js';
import type { Operation } from './operations.js';

/** Whether a tool's results are the text of unknown authors, such as a web page or a mail: `untrusted`. */
export type Trust = 'trusted' | 'untrusted';

/** A part of a tool's result, for `labels` of `defineTool`. */
export interface ResultLabel {
  /** The path of the part, such as `mails[0].body`. Empty: the whole result. */
  readonly path: string;
  /** The author or the place of the part, as users read it: `example.com`. */
  readonly from?: string | undefined;
  /** The names of those who may read the part, as `readBy` of other tools has them. Default: everybody. */
  readonly readers?: readonly string[] | undefined;
  /** Default `untrusted`. */
  readonly trust?: Trust | undefined;
}

/** The arguments of a tool about whose sources a user is asked. */
export interface ToolFlow {
  /**
   * The paths of the destinations: recipient, URL, path, command. Never the texts that are sent. Untrusted text must not
   * choose them without a question.
   */
  readonly trusted?: readonly string[] | undefined;
  /**
   * The path of a text that others receive. The text of a part with `readers` must not reach others without a question.
   */
  readonly readersOf?: string | undefined;
  /** The path of the names of those who receive the text. */
  readonly readBy?: string | undefined;
  /**
   * Whether branches count too: a user is also asked if untrusted text has chosen that the call is made, or the branch in
   * which a destination was chosen. Scripts of the harness are then followed more closely, which takes longer. Default
   * false.
   */
  readonly control?: boolean | undefined;
}

/** The facts of a conversation on which the labels of a script's literals depend. */
export interface ScriptOrigin {
  /** The texts that the user wrote. */
  readonly userTexts: readonly string[];
  /** True: the model had read untrusted text before it wrote the script. */
  readonly hasReadUntrusted: boolean;
  /** True: variables of earlier scripts, which the script can read, may hold untrusted text. Default false. */
  readonly holdsUntrusted?: boolean | undefined;
}

/** A call of the same script whose result contains the value of an argument. */
const ArgumentOriginSchema = z.looseObject({
  tool: z.string(),
  /** The position of the call among the calls of its script, starting at 1. */
  call: z.number(),
  line: z.number().optional(),
  /** The author or the place of the text, as the tool names it. */
  from: z.string().optional(),
  trust: z.enum(['trusted', 'untrusted']),
  /** The names of those who may read the text; absent: everybody. */
  readers: z.array(z.string()).readonly().optional(),
});
export type ArgumentOrigin = KnownMembers<z.infer<typeof ArgumentOriginSchema>>;

const LiteralLabelSchema = z.enum(['user', 'model', 'tainted-model']);
/**
 * The author of a literal. `user`: it stands in the user's texts. `model`: the model wrote it before it read untrusted
 * text. `tainted-model`: the model wrote it afterwards.
 */
export type LiteralLabel = z.infer<typeof LiteralLabelSchema>;

export const ProvenanceSchema = z.looseObject({
  /** The paths of the values that the tool guards. */
  guarded: z.array(z.string()).readonly(),
  /**
   * For each path, the earlier calls from whose results the value comes. If `status` is `unknown`, those whose results
   * contain the value, which is no proof.
   */
  arguments: z.record(z.string(), z.array(ArgumentOriginSchema).readonly()),
  /** For each path, the earlier calls whose results have selected the value among others, as the test of `find` does. */
  selectedBy: z.record(z.string(), z.array(ArgumentOriginSchema).readonly()).optional(),
  /** The earlier calls whose results have chosen that the call is made. Only for tools whose `flow` has `control`. */
  control: z.array(ArgumentOriginSchema).readonly().optional(),
  /** The paths of the values that the script's text or the user's texts contain, and their authors. */
  literals: z.record(z.string(), LiteralLabelSchema),
  /**
   * `proven`: every guarded value is a literal of the call itself, or its sources are known from the labels of a replay.
   * `unknown`: only the match by content knows the sources.
   */
  status: z.enum(['proven', 'unknown']),
  /** The guarded paths about which a user is asked, each with the reason. */
  reasons: z.record(z.string(), z.string()),
});
/** Where the arguments of a call came from. Values that are neither in `arguments` nor in `literals` are unknown. */
export type Provenance = KnownMembers<z.infer<typeof ProvenanceSchema>>;

/** A call, as the option `flow` of `createHarness` sees it. */
export interface FlowCall {
  readonly tool: string;
  readonly effect: Operation['effect'];
  /** The effective arguments, deep-frozen. */
  readonly input: JsonValue;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly principal: string | undefined;
}

/**
 * Decides about a call from the sources of its arguments. `allow` is no approval: the approval policy, and the question
 * about a guarded argument, still apply. A function that throws, and any other answer, ask.
 *
 * @example
 *
 * ```ts
 * const flow: FlowPolicy = ({ tool }, { reasons }) =>
 *   tool === 'transfer' && Object.keys(reasons).length > 0 ? 'deny' : 'allow';
 * ```
 */
export type FlowPolicy = (
  call: FlowCall,
  provenance: Provenance,
) => 'allow' | 'ask' | 'deny' | Promise<'allow' | 'ask' | 'deny'>;

/** The meaning of the sources of a call's arguments for its approval. */
export interface FlowFinding {
  readonly provenance: Provenance;
  /** Whether untrusted text may have chosen a guarded argument. */
  readonly isDoubtful: boolean;
  /** The arguments and the reasons in one clause, without any untrusted text. Empty if nothing is doubtful. */
  readonly reason: string;
  /** The answer of the host's policy; `allow` without one. Never rejects. */
  readonly policy: () => Promise<'allow' | 'ask' | 'deny'>;
}
