import { randomUUID } from 'node:crypto';
import type {
  ApprovalDecider,
  ApprovalGate,
  DecisionCommon,
  GateCall,
  GateDecision,
  GateMemory,
} from '../protocol/approval-gate.js';
import type { ApprovalPolicy, ApprovalRequest, Decision, Remember } from '../protocol/approvals.js';
import { ToolCallError } from '../protocol/errors.js';
import type { JsonValue } from '../protocol/json.js';
import { MAX_TIMER_MS } from '../protocol/limits.js';
import { writtenNames } from '../text/identifier-name.js';
import { sha256 } from '../text/crypto.js';
import { renderCall } from './call-rendering.js';
import { isNamedProhibition, matchRule, permissionsOf, readPolicy, type ReadPolicy } from './policy.js';
import { renderForPerson } from './render.js';

export interface GateOptions {
  /** The time in ms that the gate waits for a user; `MAX_TIMER_MS` means no limit. */
  readonly approvalTimeoutMs: number;
  /**
   * The time in ms for which a request accepts a decision, even while its script is suspended. Default: as long as the
   * script is stored.
   */
  readonly expiresAfterMs?: number | undefined;
  /** Maximum characters of the arguments or the preview in `rendered`. Default: the tool's `previewLength`, or 4000. */
  readonly maxRenderedLength?: number;
  /**
   * True: if no user can be asked, or the host answers `suspend`, the call waits until its script is suspended. Default
   * false: the call is denied.
   */
  readonly parks?: boolean;
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
 * Creates the gate of one script. Without a policy, no user can be asked. Throws a `ToolscriptUsageError` for an
 * invalid policy.
 */
export function createGate(policy: ApprovalPolicy | undefined, options: GateOptions): ApprovalGate {
  // `MAX_TIMER_MS` means no limit.
  const { expiresAfterMs } = options;
  return new PolicyGate(readPolicy(policy), {
    ...options,
    expiresAfterMs: expiresAfterMs === MAX_TIMER_MS ? undefined : expiresAfterMs,
  });
}

interface Answer {
  decision: 'approve' | 'deny';
  input?: unknown;
  note?: string;
  remember?: Remember;
  expiresAt?: number;
}

/**
 * Decides which calls of one script may run. The decision about a call comes from the first rule that matches, from the
 * policy, from an earlier decision of the user about all calls of the tool or of the plan, or from the user now. An
 * approval is bound to one call and to the SHA-256 of the call's arguments, and can be redeemed once.
 */
class PolicyGate implements ApprovalGate {
  readonly #policy: ReadPolicy;
  readonly #options: GateOptions;
  readonly #readsPermissions: boolean;
  readonly #hasProhibitions: boolean;
  /** A user's decisions for all further calls to a tool, by the tool's name. */
  readonly #remembered: Map<string, 'approve' | 'deny'>;
  #plan: 'approve' | 'deny' | undefined;
  /** Approvals that were granted and not yet redeemed. */
  readonly #granted = new Map<string, { callId: string; sha256: string }>();

  constructor(policy: ReadPolicy, options: GateOptions) {
    this.#policy = policy;
    this.#options = options;
    this.#remembered = new Map(options.memory?.tools);
    this.#plan = options.memory?.plan;
    this.#readsPermissions = policy.rules.some((rule) => rule.permission !== undefined);
    this.#hasProhibitions = policy.rules.some(isNamedProhibition);
  }

  decide(call: GateCall): Promise<GateDecision | undefined> | undefined {
    const needed = this.#needsDecision(call);
    if (needed === true) return this.#decideByPolicy(call);
    if (needed === false) return undefined;
    return needed.then((isNeeded) => (isNeeded ? this.#decideByPolicy(call) : undefined));
  }

  isOpen(request: ApprovalRequest): boolean {
    return this.#options.decisions?.has(request.approvalId) !== true && !this.#hasExpired(request);
  }

  async recheck(call: GateCall, request: ApprovalRequest): Promise<GateDecision> {
    const { approvalId } = request;
    const denial = this.#denial(call, { approvalId });
    if (denial !== undefined) return denial;
    // defence: approvals-expire-while-suspended
    if (this.#hasExpired(request)) return expired(call, approvalId);
    const decision = this.#options.decisions?.get(approvalId);
    if (decision !== undefined) return this.#applyAnswer(call, approvalId, readAnswer(decision));
    return this.#park(call, approvalId);
  }

  forbids(call: GateCall): GateDecision | undefined {
    const needed = call.tool.approval !== 'never';
    const rule = matchRule(this.#policy.rules, this.#ruled(call));
    return needed || (rule !== undefined && isNamedProhibition(rule)) ? this.#denial(call) : undefined;
  }

  #denial(call: GateCall, said: Partial<DecisionCommon> = {}): GateDecision | undefined {
    const rule = matchRule(this.#policy.rules, this.#ruled(call));
    // defence: prohibitions-are-asked-again
    if (rule?.action === 'deny') return denied(call, 'rule', 'a rule forbids it', said);
    // defence: denying-policies-are-asked-again
    if (rule === undefined && this.#policy.otherwise === 'deny')
      return denied(call, 'policy', this.#policy.denial, said);
    return undefined;
  }

  memory(): GateMemory {
    return { tools: [...this.#remembered], ...(this.#plan !== undefined && { plan: this.#plan }) };
  }

  redeem(approvalId: string, callId: string, inputJson: string): boolean {
    const granted = this.#granted.get(approvalId);
    // defence: approvals-are-used-once
    this.#granted.delete(approvalId);
    // defence: approvals-are-bound, without it: return granted !== undefined;
    return granted !== undefined && granted.callId === callId && granted.sha256 === sha256(inputJson);
  }

  /**
   * Returns whether a request no longer accepts a decision. Requests of earlier releases contain no times, so they do
   * not expire.
   */
  #hasExpired({
    createdAt = Number.POSITIVE_INFINITY,
    expiresAt = Number.POSITIVE_INFINITY,
  }: ApprovalRequest): boolean {
    const { expiresAfterMs = Number.POSITIVE_INFINITY } = this.#options;
    return isPast(Math.min(expiresAt, createdAt + expiresAfterMs));
  }

  #needsDecision(call: GateCall): boolean | Promise<boolean> {
    if (this.#hasProhibitions) {
      const rule = matchRule(this.#policy.rules, this.#ruled(call));
      // defence: prohibitions-hold-for-free-calls
      if (rule !== undefined && isNamedProhibition(rule)) return true;
    }
    const { approval, effect } = call.tool;
    if (approval === 'never') return false;
    if (approval === 'always') return true;
    if (approval === 'policy') return effect !== 'read';
    // defence: predicates-that-fail-ask, without it: return untilAborted(call.signal, false, () => this.#askPredicate(call));
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
      principal: call.principal,
      app: call.app,
    });
    // defence: odd-answers-of-predicates-ask, without it: return answer === true;
    return answer !== false;
  }

  async #decideByPolicy(call: GateCall): Promise<GateDecision> {
    if (call.signal.aborted) return cancelled(randomUUID());
    const rule = matchRule(this.#policy.rules, this.#ruled(call));
    if (rule?.action === 'approve') return this.#grant(call, 'rule', call.inputJson);
    if (rule?.action === 'deny') return denied(call, 'rule', 'a rule forbids it');
    const action = rule?.action ?? this.#policy.otherwise;
    if (action === 'approve') return this.#grant(call, 'policy', call.inputJson);
    if (action === 'deny') return denied(call, 'policy', this.#policy.denial);
    return this.#remember(call) ?? this.#askUser(call);
  }

  #remember(call: GateCall): GateDecision | undefined {
    const remembered = this.#remembered.get(call.tool.name) ?? (isPlanned(call) ? this.#plan : undefined);
    if (remembered === undefined) return undefined;
    if (remembered === 'approve') return this.#grant(call, 'person', call.inputJson);
    return denied(call, 'person', 'a user refused every call of this kind in this script');
  }

  async #askUser(call: GateCall): Promise<GateDecision> {
    const ask = this.#policy.ask;
    const parks = this.#options.parks === true;
    if (ask === undefined && !parks)
      return denied(
        call,
        'policy',
        this.#policy.otherwise === 'ask' ? this.#policy.denial : 'no user can be asked here',
      );
    const approvalId = requestId(call);
    const decided = this.#options.decisions?.get(approvalId);
    // The user decided about the same call before this process resumed the script.
    if (decided !== undefined) return this.#applyAnswer(call, approvalId, readAnswer(decided));
    const request = await this.#makeRequest(call, approvalId);
    if (call.signal.aborted) return cancelled(approvalId);
    call.onRequest(request);
    if (ask === undefined) return this.#park(call, approvalId);
    const answer = await this.#waitForAnswer(call.signal, () => ask(request));
    if (answer.type === 'answered' && answer.value === 'suspend' && parks) return this.#park(call, approvalId);
    if (answer.type === 'aborted') return cancelled(approvalId);
    if (answer.type === 'timeout') {
      const reason = `No user decided about the call to ${call.tool.name} within ${this.#options.approvalTimeoutMs} ms. The host can raise limits.approvalTimeoutMs.`;
      return { decision: 'timeout', approvalId, by: 'clock', reason };
    }
    if (answer.type === 'failed')
      return denied(
        call,
        'host',
        answer.reason ?? 'the approvals function of the host threw an error, which the host must handle',
        { approvalId },
      );
    const read = readAnswer(answer.value);
    if (read !== undefined) await this.#noteDecision(approvalId, read);
    if (call.signal.aborted) return cancelled(approvalId);
    return this.#applyAnswer(call, approvalId, read);
  }

  async #noteDecision(approvalId: string, decision: Answer): Promise<void> {
    try {
      await this.#options.onDecided?.(approvalId, decision as Decision);
    } catch {
      // The gate need not report the failure: a call does not start after the journal has failed.
    }
  }

  /** Waits until the call is aborted because its script is suspended or ends. */
  #park(call: GateCall, approvalId: string): Promise<GateDecision> {
    call.onParked();
    return untilAborted(call.signal, cancelled(approvalId), () => new Promise<never>(() => {}));
  }

  async #makeRequest(call: GateCall, approvalId: string): Promise<ApprovalRequest> {
    const { tool, callId, scriptId, input, inputJson, line, snippet, agents, plan } = call;
    const context = contextOf(input);
    const createdAt = Date.now();
    const { expiresAfterMs } = this.#options;
    return {
      approvalId,
      callId,
      scriptId,
      tool: tool.name,
      input,
      inputJson,
      effect: tool.effect,
      ...(line !== undefined && { line }),
      ...(snippet !== undefined && { snippet }),
      ...(agents !== undefined && { agents }),
      ...(context !== undefined && { context: renderForPerson(context, { maxLength: 1_000 }) }),
      rendered: await renderCall(call, this.#options.maxRenderedLength),
      plan,
      planned: isPlanned(call),
      createdAt,
      ...(expiresAfterMs !== undefined && { expiresAt: createdAt + expiresAfterMs }),
    };
  }

  #waitForAnswer(signal: AbortSignal, ask: () => unknown): Promise<Waited> {
    const { approvalTimeoutMs } = this.#options;
    return new Promise((resolve) => {
      const finish = (waited: Waited): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        resolve(waited);
      };
      const onAbort = (): void => finish({ type: 'aborted' });
      // defence: approvals-expire, without it: const timer = undefined;
      const timer =
        approvalTimeoutMs === MAX_TIMER_MS
          ? undefined
          : setTimeout(() => finish({ type: 'timeout' }), approvalTimeoutMs);
      // defence: approvals-end-with-their-call
      signal.addEventListener('abort', onAbort, { once: true });
      void settled(ask).then((waited) => finish(waited));
    });
  }

  #applyAnswer(call: GateCall, approvalId: string, answer: Answer | undefined): GateDecision {
    if (answer === undefined)
      return denied(
        call,
        'host',
        'the approvals function of the host must return "approve", "deny" or { decision }, but returned something else',
        { approvalId },
      );
    // defence: decisions-expire
    if (answer.expiresAt !== undefined && isPast(answer.expiresAt)) return expired(call, approvalId);
    const { note, remember } = answer;
    const said = { approvalId, ...(note !== undefined && { note }), ...(remember !== undefined && { remember }) };
    if (remember === 'plan') this.#plan = answer.decision;
    else if (remember === 'script') this.#remembered.set(call.tool.name, answer.decision);
    if (answer.decision === 'deny') return denied(call, 'person', note ?? 'no reason was given', said);
    if (answer.input === undefined) return this.#grant(call, 'person', call.inputJson, said);
    return this.#applyEdit(call, answer.input, said);
  }

  /**
   * Applies a decision with replacement arguments. The tool validates the user's arguments like those of the script,
   * and a rule can still deny the call.
   */
  #applyEdit(call: GateCall, input: unknown, said: Partial<DecisionCommon>): GateDecision {
    const edited = call.tool.validateInput(input);
    // defence: edits-fit-the-tool, without it: if (!edited.ok) return this.#grant(call, 'person', JSON.stringify(input), said);
    if (!edited.ok) {
      const first = edited.issues[0];
      const detail = first === undefined ? '' : ` (${first.path}: ${first.message})`;
      return denied(call, 'host', `the user's replacement arguments do not fit the tool${detail}`, said);
    }
    const inputJson = JSON.stringify(edited.value);
    const rule = matchRule(this.#policy.rules, this.#ruled(call, JSON.parse(inputJson) as JsonValue));
    // defence: edits-obey-deny-rules
    if (rule?.action === 'deny') return denied(call, 'rule', "a rule forbids the user's replacement arguments", said);
    return this.#grant(call, 'person', inputJson, said);
  }

  #grant(call: GateCall, by: ApprovalDecider, inputJson: string, said: Partial<DecisionCommon> = {}): GateDecision {
    const approvalId = said.approvalId ?? `apr_${randomUUID()}`;
    this.#granted.set(approvalId, { callId: call.callId, sha256: sha256(inputJson) });
    return { decision: 'approve', by, inputJson, ...said, approvalId };
  }

  #ruled({ tool, input: own }: GateCall, input = own) {
    return { tool, input, permissions: this.#readsPermissions ? permissionsOf(tool, input) : undefined };
  }
}

type Waited =
  | { type: 'answered'; value: unknown }
  | { type: 'failed'; reason: string | undefined }
  | { type: 'timeout' }
  | { type: 'aborted' };

async function settled(ask: () => unknown): Promise<Waited> {
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
  // defence: only-decisions-decide, without it: if (decision !== 'approve' && decision !== 'deny') return { decision: 'approve' };
  if (decision !== 'approve' && decision !== 'deny') return undefined;
  if (remember !== undefined && !isRemember(remember)) return undefined;
  if (note !== undefined && typeof note !== 'string') return undefined;
  if (expiresAt !== undefined && !isTime(expiresAt)) return undefined;
  return {
    decision,
    ...(input !== undefined && { input }),
    ...(note !== undefined && { note }),
    ...(remember !== undefined && { remember }),
    ...(expiresAt !== undefined && { expiresAt }),
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
    // defence: plan-covers-the-same-arguments, without it: return effective.ok;
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

function denied(call: GateCall, by: ApprovalDecider, why: string, said: Partial<DecisionCommon> = {}): GateDecision {
  const reason = `${DENIERS[by]} the call to ${call.tool.name}: ${why}`;
  return {
    decision: 'deny',
    by,
    reason: /[.!?]$/.test(reason) ? reason : `${reason}.`,
    ...said,
    approvalId: said.approvalId ?? `apr_${randomUUID()}`,
  };
}

/** Compares with the system's clock, because the time may come from another process. */
function isPast(timeMs: number): boolean {
  return timeMs <= Date.now();
}

function expired(call: GateCall, approvalId: string): GateDecision {
  const reason = `The request to approve the call to ${call.tool.name} has expired. Make the call again to request a new decision.`;
  return { decision: 'timeout', approvalId, by: 'clock', reason };
}

/**
 * Returns the id of a request. In a script with an id, the same call with the same arguments always gets the same id,
 * even during a replay, and no other call gets this id.
 */
function requestId({ scriptId, callId, tool, inputJson }: GateCall): string {
  if (scriptId === undefined) return `apr_${randomUUID()}`;
  return `apr_${sha256([scriptId, callId, tool.name, inputJson].join('\n')).slice(0, 32)}`;
}

function cancelled(approvalId: string): GateDecision {
  return { decision: 'cancelled', approvalId, by: 'host', reason: 'The call was aborted before a decision.' };
}

function contextOf(input: JsonValue): string | undefined {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, 'approvalContext')) return undefined;
  const context = (input as Record<string, unknown>)['approvalContext'];
  return typeof context === 'string' ? context : undefined;
}
