import { randomUUID } from 'node:crypto';
import type {
  ApprovalDecider,
  ApprovalGate,
  DecisionCommon,
  GateCall,
  GateDecision,
  GateMemory,
} from '../../protocol/approval-gate.js';
import type { ApprovalChange, ApprovalRequest, ApprovalRule, Decision, Remember } from '../../protocol/approvals.js';
import type { FlowFinding } from '../../protocol/provenance.js';
import { ToolCallError } from '../../protocol/errors.js';
import { present, type JsonValue } from '../../protocol/json.js';
import type { RunContext } from '../../protocol/run-context.js';
import { MAX_TIMER_MS } from '../../protocol/limited-signal.js';
import { writtenNames } from '../../text/identifier-name.js';
import { sha256 } from '../../text/crypto.js';
import { renderCall } from './call-rendering.js';
import { changesSince, coveredParts, definitionDigest, partsDigest, editedRequest } from './coverage.js';
import {
  isNamedProhibition,
  matchRule,
  callPermissions,
  readPolicy,
  type ReadPolicy,
  type RuledCall,
} from './policy.js';
import { renderForPerson } from './render.js';

/** The part of a run's context that a gate reads. */
export type GateContext = Pick<RunContext, 'approvals' | 'approvalExpiryMs' | 'limits'>;

/** The state of a script's gate in an earlier process, and its journal. A structured call has neither. */
export interface ScriptGate {
  /** Decisions that were made while the script was suspended, by the request's `approvalId`. */
  readonly decisions?: ReadonlyMap<string, Decision> | undefined;
  readonly memory?: GateMemory | undefined;
  /**
   * Called with each decision that the approvals function of the host returns, before the gate applies the decision.
   * The gate ignores failures of `onDecided`.
   */
  readonly onDecided?: ((approvalId: string, decision: Decision) => void | Promise<void>) | undefined;
}

/**
 * Creates the gate of one script, or of one structured call if `script` is undefined. If no user can be asked, or the
 * host answers `suspend`, a script's call waits until its script is suspended, and a structured call is denied. Throws a
 * `ToolscriptUsageError` for an invalid policy.
 */
export function createGate(context: GateContext, script?: ScriptGate): ApprovalGate {
  return new PolicyGate(context, script);
}

interface Answer {
  decision: 'approve' | 'deny';
  input?: unknown;
  note?: string | undefined;
  remember?: Remember | undefined;
  expiresAt?: number | undefined;
}

/**
 * Decides which calls of one script may run. The decision about a call comes from the first rule that matches, from the
 * policy, from an earlier decision of the user about all calls of the tool or of the plan, or from the user now. An
 * approval is bound to one call and to the SHA-256 of the call's arguments, and can be redeemed once.
 */
class PolicyGate implements ApprovalGate {
  readonly #policy: ReadPolicy;
  readonly #approvalTimeoutMs: number;
  /** The time in ms for which a request accepts a decision. Undefined: as long as the script is stored. */
  readonly #expiryMs: number | undefined;
  readonly #script: ScriptGate | undefined;
  readonly #readsPermissions: boolean;
  readonly #hasProhibitions: boolean;
  /** A user's decisions for all further calls to a tool, by the digest of the tool's definition. */
  readonly #rememberedDecisions: Map<string, 'approve' | 'deny'>;
  #plan: 'approve' | 'deny' | undefined;
  /** Approvals that were granted and not yet redeemed. */
  readonly #grantedApprovals = new Map<string, { callId: string; sha256: string }>();
  /** The calls about which a user must decide because of the sources of their arguments. */
  #askedForSources: WeakSet<GateCall> | undefined;
  /** The calls that wait for a user. `cover` ends the wait of a call with a decision about several calls. */
  readonly #waiting = new Map<GateCall, { approvalId: string; cover: (decision: GateDecision) => void }>();

  constructor({ approvals, approvalExpiryMs, limits }: GateContext, script: ScriptGate | undefined) {
    this.#policy = readPolicy(approvals);
    this.#approvalTimeoutMs = limits.approvalTimeoutMs;
    // `MAX_TIMER_MS` means no limit.
    if (script !== undefined && approvalExpiryMs !== MAX_TIMER_MS) this.#expiryMs = approvalExpiryMs;
    this.#script = script;
    this.#rememberedDecisions = new Map(script?.memory?.tools);
    this.#plan = script?.memory?.plan;
    this.#readsPermissions = this.#policy.rules.some((rule) => rule.permission !== undefined);
    this.#hasProhibitions = this.#policy.rules.some(isNamedProhibition);
  }

  decide(call: GateCall): Promise<GateDecision | undefined> | undefined {
    const { flow } = call;
    return flow === undefined ? this.#decideFreely(call) : this.#decideBySources(call, flow);
  }

  #decideFreely(call: GateCall): Promise<GateDecision | undefined> | undefined {
    const needed = this.#needsDecision(call);
    if (needed === true) return this.#decideByPolicy(call);
    if (needed === false) return undefined;
    return needed.then((isNeeded) => (isNeeded ? this.#decideByPolicy(call) : undefined));
  }

  /** Decides about a call with guarded arguments. Their sources can only tighten the policy. */
  async #decideBySources(call: GateCall, flow: FlowFinding): Promise<GateDecision | undefined> {
    const { provenance } = flow;
    const refused = await this.#sourceDenial(call, flow);
    const decision = refused ?? (await this.#decideFreely(call)) ?? (await this.#decideIfAsked(call));
    return decision && { ...decision, provenance };
  }

  /** Asks about a call that needs a decision only because of the sources of its arguments. */
  #decideIfAsked(call: GateCall): Promise<GateDecision> | undefined {
    if (this.#askedForSources?.has(call) !== true) return undefined;
    return this.#policy.rules.length === 0 && this.#policy.otherwise === 'deny'
      ? this.#decideByPolicy(call)
      : this.#askUser(call);
  }

  /**
   * The denial by the host's policy about sources. If a user must decide, the call is marked: no rule, policy or
   * earlier decision then approves it.
   */
  async #sourceDenial(
    call: GateCall,
    { policy, isDoubtful, reason }: FlowFinding,
    said: Partial<DecisionCommon> = {},
  ): Promise<GateDecision | undefined> {
    const answer = await untilAborted(call.signal, 'ask' as const, policy);
    if (answer === 'deny') return denial(call, 'rule', reason === '' ? 'the sources of its arguments' : reason, said);
    // defence: doubtful-sources-ask
    if (answer === 'ask' || isDoubtful) (this.#askedForSources ??= new WeakSet()).add(call);
    return undefined;
  }

  isOpen(request: ApprovalRequest): boolean {
    return this.#script?.decisions?.has(request.approvalId) !== true && !this.#hasExpired(request);
  }

  async recheck(call: GateCall, request: ApprovalRequest): Promise<GateDecision> {
    const decision = await this.#recheck(call, request);
    return call.flow === undefined ? decision : { ...decision, provenance: call.flow.provenance };
  }

  async #recheck(call: GateCall, request: ApprovalRequest): Promise<GateDecision> {
    const { approvalId } = request;
    const { flow } = call;
    const denial =
      this.#denial(call, { approvalId }) ?? (flow && (await this.#sourceDenial(call, flow, { approvalId })));
    if (denial !== undefined) return denial;
    // defence: approvals-expire-while-suspended
    if (this.#hasExpired(request)) return approvalExpiry(call, approvalId);
    const decision = this.#script?.decisions?.get(approvalId);
    if (decision !== undefined) return this.#applyAnswer(call, request, readAnswer(decision));
    return this.#remember(call, { approvalId }) ?? this.#park(call, approvalId);
  }

  changesSince(approved: ApprovalRequest, call: GateCall): Promise<readonly ApprovalChange[]> {
    return changesSince(approved, call);
  }

  forbids(call: GateCall): GateDecision | undefined {
    const needed = call.tool.approval !== 'never' || call.context.repeatsReadText;
    const rule = matchRule(this.#policy.rules, this.#policyCall(call));
    return needed || (rule !== undefined && isNamedProhibition(rule)) ? this.#denial(call) : undefined;
  }

  #denial(call: GateCall, said: Partial<DecisionCommon> = {}): GateDecision | undefined {
    const rule = matchRule(this.#policy.rules, this.#policyCall(call));
    // defence: prohibitions-are-asked-again
    if (rule?.action === 'deny') return denial(call, 'rule', ruleReason(rule, call), said);
    // defence: denying-policies-are-asked-again
    if (rule === undefined && this.#policy.otherwise === 'deny')
      return denial(call, 'policy', this.#policy.denial, said);
    return undefined;
  }

  memory(): GateMemory {
    return { tools: [...this.#rememberedDecisions], plan: this.#plan };
  }

  redeem(approvalId: string, callId: string, inputJson: string): boolean {
    const granted = this.#grantedApprovals.get(approvalId);
    // defence: approvals-are-used-once
    this.#grantedApprovals.delete(approvalId);
    // defence: approvals-are-bound
    return granted !== undefined && granted.callId === callId && granted.sha256 === sha256(inputJson);
  }

  /** Returns whether a request no longer accepts a decision. */
  #hasExpired({ createdAt, expiresAt = Number.POSITIVE_INFINITY }: ApprovalRequest): boolean {
    return isPast(Math.min(expiresAt, createdAt + (this.#expiryMs ?? Number.POSITIVE_INFINITY)));
  }

  #needsDecision(call: GateCall): boolean | Promise<boolean> {
    if (this.#hasProhibitions) {
      const rule = matchRule(this.#policy.rules, this.#policyCall(call));
      // defence: prohibitions-hold-for-free-calls
      if (rule !== undefined && isNamedProhibition(rule)) return true;
    }
    // defence: repeated-scripts-ask
    if (call.context.repeatsReadText) return true;
    const { approval, effect } = call.tool;
    if (approval === 'never') return false;
    if (approval === 'always') return true;
    if (approval === 'policy') return effect !== 'read';
    // defence: predicates-that-fail-ask
    return untilAborted(call.signal, true, () => this.#askPredicate(call));
  }

  /**
   * Returns whether the call needs a decision, which is true unless the predicate returns false. Rejects if the
   * predicate fails.
   */
  async #askPredicate(call: GateCall): Promise<boolean> {
    const { approval, name } = call.tool;
    if (typeof approval !== 'function') return true;
    const answer: unknown = await approval(call.input as never, {
      tool: name,
      principal: call.context.principal,
      app: call.context.app,
    });
    // defence: odd-answers-of-predicates-ask
    return answer !== false;
  }

  async #decideByPolicy(call: GateCall): Promise<GateDecision> {
    if (call.signal.aborted) return approvalCancellation(randomUUID());
    const rule = matchRule(this.#policy.rules, this.#policyCall(call));
    const isAsked = call.context.repeatsReadText || this.#askedForSources?.has(call) === true;
    // defence: no-rule-approves-repeated-scripts
    if (!isAsked && rule?.action === 'approve') return this.#grant(call, 'rule', call.inputJson);
    if (rule?.action === 'deny') return denial(call, 'rule', ruleReason(rule, call));
    const action = rule?.action ?? this.#policy.otherwise;
    // defence: no-policy-approves-repeated-scripts
    if (!isAsked && action === 'approve') return this.#grant(call, 'policy', call.inputJson);
    if (action === 'deny') return denial(call, 'policy', this.#policy.denial);
    return this.#remember(call) ?? this.#askUser(call);
  }

  /** Returns an earlier decision of the user that covers this call. `said`: the request about the call, if any. */
  #remember(call: GateCall, said: Partial<DecisionCommon> = {}): GateDecision | undefined {
    // defence: remembered-decisions-know-their-tool
    const ofTool =
      this.#rememberedDecisions.size === 0 ? undefined : this.#rememberedDecisions.get(definitionDigest(call.tool));
    const remembered = ofTool ?? (isPlanned(call) ? this.#plan : undefined);
    // defence: remembered-approvals-cover-no-doubtful-sources
    if (remembered === undefined || (remembered === 'approve' && this.#askedForSources?.has(call) === true))
      return undefined;
    if (remembered === 'approve') return this.#grant(call, 'person', call.inputJson, said);
    return denial(call, 'person', 'a user refused every call of this kind in this script', said);
  }

  /** Applies a decision about several calls to those that wait already. */
  #coverWaiting(): void {
    for (const [call, { approvalId, cover }] of this.#waiting) {
      const decision = this.#remember(call, { approvalId });
      if (decision !== undefined) cover(decision);
    }
  }

  async #askUser(call: GateCall): Promise<GateDecision> {
    const ask = this.#policy.ask;
    const parks = this.#script !== undefined;
    if (ask === undefined && !parks)
      return denial(
        call,
        'policy',
        this.#policy.otherwise === 'ask' ? this.#policy.denial : 'no user can be asked here',
      );
    const request = await this.#makeRequest(call);
    const { approvalId } = request;
    const decided = this.#script?.decisions?.get(approvalId);
    // The user decided about the same call before this process resumed the script.
    if (decided !== undefined) return this.#applyAnswer(call, request, readAnswer(decided));
    if (call.signal.aborted) return approvalCancellation(approvalId);
    // A decision about several calls may have been made while the request was written.
    const covered = this.#remember(call);
    if (covered !== undefined) return covered;
    call.onRequest(request);
    if (ask === undefined) return this.#park(call, approvalId);
    const answer = await this.#waitForAnswer(call, approvalId, () => ask(request));
    if (answer.type === 'covered') return answer.decision;
    if (answer.type === 'answered' && answer.value === 'suspend' && parks) return this.#park(call, approvalId);
    if (answer.type === 'aborted') return approvalCancellation(approvalId);
    if (answer.type === 'timeout') {
      const reason = `No user decided about the call to ${call.tool.name} within ${this.#approvalTimeoutMs} ms. The host can raise limits.approvalTimeoutMs.`;
      return { decision: 'timeout', approvalId, by: 'clock', reason };
    }
    if (answer.type === 'failed')
      return denial(
        call,
        'host',
        answer.reason ?? 'the approvals function of the host threw an error, which the host must handle',
        { approvalId },
      );
    const read = readAnswer(answer.value);
    if (read !== undefined) await this.#noteDecision(approvalId, read);
    if (call.signal.aborted) return approvalCancellation(approvalId);
    return this.#applyAnswer(call, request, read);
  }

  async #noteDecision(approvalId: string, decision: Answer): Promise<void> {
    try {
      await this.#script?.onDecided?.(approvalId, decision as Decision);
    } catch {
      // The gate need not report the failure: a call does not start after the journal has failed.
    }
  }

  /**
   * Waits until the call is aborted because its script is suspended or ends, or until a decision about another call
   * covers it.
   */
  #park(call: GateCall, approvalId: string): Promise<GateDecision> {
    call.onParked();
    const covered = () =>
      new Promise<GateDecision>((cover) => {
        this.#waiting.set(call, { approvalId, cover });
      });
    return untilAborted(call.signal, approvalCancellation(approvalId), covered).finally(() =>
      this.#waiting.delete(call),
    );
  }

  async #makeRequest(call: GateCall): Promise<ApprovalRequest> {
    const { tool, callId, scriptId, input, inputJson, line, snippet, plan, changed } = call;
    const rendered = await renderCall(call);
    const covers = await coveredParts(call, rendered);
    const digest = partsDigest(covers);
    const { agents } = call.context.sink.identity ?? {};
    const context = approvalContext(input);
    const createdAt = Date.now();
    return present({
      approvalId: requestId(call, digest),
      callId,
      scriptId,
      tool: tool.name,
      input,
      inputJson,
      effect: tool.effect,
      line,
      snippet,
      agents,
      context: context === undefined ? undefined : renderForPerson(context, { maxLength: 1_000 }),
      rendered,
      covers,
      digest,
      changed,
      provenance: call.flow?.provenance,
      plan,
      planned: isPlanned(call),
      createdAt,
      expiresAt: this.#expiryMs === undefined ? undefined : createdAt + this.#expiryMs,
    }) as ApprovalRequest;
  }

  #waitForAnswer(call: GateCall, approvalId: string, ask: () => unknown): Promise<AnswerWait> {
    const { signal } = call;
    const approvalTimeoutMs = this.#approvalTimeoutMs;
    return new Promise((resolve) => {
      const finish = (waited: AnswerWait): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(call);
        resolve(waited);
      };
      const onAbort = (): void => finish({ type: 'aborted' });
      // defence: approvals-expire
      const timer =
        approvalTimeoutMs === MAX_TIMER_MS
          ? undefined
          : setTimeout(() => finish({ type: 'timeout' }), approvalTimeoutMs);
      // defence: approvals-end-with-their-call
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(call, { approvalId, cover: (decision) => finish({ type: 'covered', decision }) });
      void awaitAnswer(ask).then((waited) => finish(waited));
    });
  }

  #applyAnswer(call: GateCall, request: ApprovalRequest, answer: Answer | undefined): GateDecision {
    const { approvalId } = request;
    if (answer === undefined)
      return denial(
        call,
        'host',
        'the approvals function of the host must return "approve", "deny" or { decision }, but returned something else',
        { approvalId },
      );
    // defence: decisions-expire
    if (answer.expiresAt !== undefined && isPast(answer.expiresAt)) return approvalExpiry(call, approvalId);
    const { note, remember } = answer;
    const said = { approvalId, note, remember };
    if (remember === 'plan') this.#plan = answer.decision;
    else if (remember === 'script') this.#rememberedDecisions.set(definitionDigest(call.tool), answer.decision);
    if (remember !== undefined) this.#coverWaiting();
    if (answer.decision === 'deny')
      return denial(
        call,
        'person',
        [note ?? 'no reason was given', call.flow?.reason].filter(Boolean).join('; '),
        said,
      );
    if (answer.input === undefined) return { ...this.#grant(call, 'person', call.inputJson, said), approved: request };
    return this.#applyEdit(call, answer.input, { ...said, approved: editedRequest(request, call.tool) });
  }

  /**
   * Applies a decision with replacement arguments. The tool validates the user's arguments like those of the script,
   * and a rule can still deny the call.
   */
  #applyEdit(
    call: GateCall,
    input: unknown,
    { approved, ...said }: Partial<DecisionCommon> & { approved: ApprovalRequest },
  ): GateDecision {
    const edited = call.tool.validateInput(input);
    // defence: edits-fit-the-tool
    if (!edited.ok) {
      const first = edited.issues[0];
      const detail = first === undefined ? '' : ` (${first.path}: ${first.message})`;
      return denial(call, 'host', `the user's replacement arguments do not fit the tool${detail}`, said);
    }
    const inputJson = JSON.stringify(edited.value);
    const rule = matchRule(this.#policy.rules, this.#policyCall(call, JSON.parse(inputJson) as JsonValue));
    // defence: edits-obey-deny-rules
    if (rule?.action === 'deny') return denial(call, 'rule', "a rule forbids the user's replacement arguments", said);
    return { ...this.#grant(call, 'person', inputJson, said), approved };
  }

  #grant(call: GateCall, by: ApprovalDecider, inputJson: string, said: Partial<DecisionCommon> = {}): Approval {
    const approvalId = said.approvalId ?? `apr_${randomUUID()}`;
    this.#grantedApprovals.set(approvalId, { callId: call.callId, sha256: sha256(inputJson) });
    return { decision: 'approve', by, inputJson, ...said, approvalId };
  }

  #policyCall(call: GateCall, input = call.input): RuledCall {
    const { tool } = call;
    const permissions = this.#readsPermissions ? callPermissions(tool, input) : undefined;
    return { tool, input, permissions, isDoubtful: () => call.flow?.isDoubtful === true };
  }
}

type Approval = Extract<GateDecision, { decision: 'approve' }>;

type AnswerWait =
  | { type: 'answered'; value: unknown }
  | { type: 'covered'; decision: GateDecision }
  | { type: 'failed'; reason: string | undefined }
  | { type: 'timeout' }
  | { type: 'aborted' };

async function awaitAnswer(ask: () => unknown): Promise<AnswerWait> {
  try {
    return { type: 'answered', value: await ask() };
  } catch (error) {
    // A script sees only the message of an `ApprovalDeniedError`, because other messages may reveal too much.
    const reason = error instanceof ToolCallError && error.code === 'ApprovalDeniedError' ? error.message : undefined;
    return { type: 'failed', reason };
  }
}

/**
 * Runs an asynchronous function that may reject or never end. Returns `otherwise` if the function rejects or the signal
 * aborts first.
 */
function untilAborted<T>(signal: AbortSignal, otherwise: T, run: () => Promise<T>): Promise<T> {
  if (signal.aborted) return Promise.resolve(otherwise);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(otherwise), { once: true });
    run().then(resolve, () => resolve(otherwise));
  });
}

function readAnswer(answer: unknown): Answer | undefined {
  if (answer === 'approve' || answer === 'deny') return { decision: answer };
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { decision, input, note, remember, expiresAt } = answer as Record<string, unknown>;
  // defence: only-decisions-decide
  if (decision !== 'approve' && decision !== 'deny') return undefined;
  if (remember !== undefined && !isRemember(remember)) return undefined;
  if (note !== undefined && typeof note !== 'string') return undefined;
  if (expiresAt !== undefined && !isTime(expiresAt)) return undefined;
  return {
    decision,
    input,
    note,
    remember,
    expiresAt,
  };
}

/** Whether the value is a time, in ms since 1970. */
export function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function isRemember(value: unknown): value is Remember {
  return value === 'script' || value === 'plan' || value === 'workspace';
}

/**
 * Whether the plan contains the call with these arguments. A user who decides about the plan then sees the arguments. A
 * plan contains no computed arguments.
 */
function isPlanned({ plan, tool, line, inputJson }: GateCall): boolean {
  const names = writtenNames(tool.name);
  return plan.some((planned) => {
    if (!names.includes(planned.tool) || planned.line !== line) return false;
    // defence: plan-covers-literal-arguments
    if (!Object.hasOwn(planned, 'input')) return false;
    const effective = tool.validateInput(planned.input);
    // defence: plan-covers-the-same-arguments
    return effective.ok && JSON.stringify(effective.value) === inputJson;
  });
}

const DENIERS: Readonly<Record<ApprovalDecider, string>> = {
  person: 'A user refused',
  rule: 'A rule refused',
  policy: 'Not approved:',
  clock: 'Not approved:',
  host: 'Not approved:',
};

function denial(call: GateCall, by: ApprovalDecider, why: string, said: Partial<DecisionCommon> = {}): GateDecision {
  const reason = `${DENIERS[by]} the call to ${call.tool.name}: ${why}`;
  return {
    decision: 'deny',
    by,
    reason: /[.!?]$/.test(reason) ? reason : `${reason}.`,
    ...said,
    approvalId: said.approvalId ?? `apr_${randomUUID()}`,
  };
}

function ruleReason({ from }: ApprovalRule, { flow }: GateCall): string {
  return from === undefined || flow === undefined ? 'a rule forbids it' : flow.reason;
}

/** Compares with the system's clock, because the time may come from another process. */
function isPast(timeMs: number): boolean {
  return timeMs <= Date.now();
}

function approvalExpiry(call: GateCall, approvalId: string): GateDecision {
  const reason = `The request to approve the call to ${call.tool.name} has expired. Make the call again to request a new decision.`;
  return { decision: 'timeout', approvalId, by: 'clock', reason };
}

/**
 * Returns the id of a request. In a script with an id, the same call with the same arguments always gets the same id,
 * even during a replay, and no other call gets this id. A call that has changed gets another id.
 */
function requestId({ scriptId, callId, tool, inputJson }: GateCall, digest: string): string {
  if (scriptId === undefined) return `apr_${randomUUID()}`;
  // defence: decisions-are-bound-to-the-digest
  return `apr_${sha256([scriptId, callId, tool.name, inputJson, digest].join('\n')).slice(0, 32)}`;
}

function approvalCancellation(approvalId: string): GateDecision {
  return { decision: 'cancelled', approvalId, by: 'host', reason: 'The call was aborted before a decision.' };
}

function approvalContext(input: JsonValue): string | undefined {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, 'approvalContext')) return undefined;
  const context = (input as Record<string, unknown>)['approvalContext'];
  return typeof context === 'string' ? context : undefined;
}
