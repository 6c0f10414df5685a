import {
  scriptFailure,
  type ApprovalCallback,
  type ApprovalPolicy,
  type JsonValue,
  type Operation,
  type ScriptFailure,
  type Tool,
  type ToolCallContext,
} from '../protocol/index.js';
import type { RunContext } from '../protocol/run-context.js';
import { claimScript, requireKeeping, refusalOfDamaged } from './durability/claims.js';
import { journalState, type JournalLine, type RevertState } from './durability/journal-lines.js';
import { inspectScript, type KeptScriptDetails } from './durability/kept-scripts.js';
import { reportInternalError, storeFailure } from './durability/services.js';
import { createRegistry } from '../tools/index.js';
import type { HarnessServices } from './script-run.js';
import { callOnce } from './structured-call.js';

/*
 * Undoes the calls of a stored script by the `revert` of their tools, newest first. The process claims the script, so
 * that exactly one process reverts and no process resumes at the same time. Each revert passes the approvals like a
 * call of its tool. Each revert is written to the journal before it starts and after it has ended. So a successful
 * revert is never repeated. If the process is killed during a revert, the revert is repeated only if the tool is
 * idempotent.
 */

/**
 * `failed`: the revert failed now. `unknown`: a revert started, and its end is unknown. `not_undone`: the tool has no
 * `revert`, or the call's outcome does not permit a revert.
 */
type RevertStatus = 'revertible' | 'reverted' | 'failed' | 'unknown' | 'not_undone';

/** A call with effects of a stored script. */
export interface RevertibleCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly line?: number | undefined;
  readonly status: RevertStatus;
  /** The reason why the call is not undone. */
  readonly reason?: string | undefined;
}

/** The result of `revert`. `calls`: the calls that were reverted now, and the call whose revert failed, if any. */
export type RevertResult =
  | { readonly ok: true; readonly calls: readonly RevertibleCall[] }
  | { readonly ok: false; readonly error: ScriptFailure };

/** Returns the calls with effects of a stored script, newest first. Undefined if the principal has no such script. */
export async function listRevertible(
  services: HarnessServices,
  scriptId: string,
  principal: string | undefined,
): Promise<RevertibleCall[] | undefined> {
  const details = await inspectScript(services, scriptId);
  // defence: reverts-ask-for-the-principal
  if (details === undefined || details.principal !== principal) return undefined;
  const states = await revertStates(services, scriptId);
  return changing(details).map((operation) => revertibleCall(services, operation, states.get(operation.callId)));
}

/**
 * Reverts all calls that can be reverted, newest first, and stops at the first failure. Does not reject if a tool
 * fails.
 */
export async function revertCalls(
  services: HarnessServices,
  context: RunContext,
  scriptId: string,
): Promise<RevertResult> {
  const before = await listRevertible(services, scriptId, context.principal);
  if (before === undefined)
    return refusedRevert(`There is no script "${scriptId}" in the store. \`listScripts(store)\` lists the ids.`);
  if (!before.some(({ status }) => status === 'revertible')) return { ok: true, calls: [] };
  const taken = await claimScript(services, scriptId, {});
  if ('outcome' in taken)
    return taken.outcome.status === 'failed' ? { ok: false, error: taken.outcome.error } : refusedRevert('');
  const { leases } = requireKeeping(services, 'revert');
  leases.hold(scriptId, taken.epoch, () => {});
  try {
    const damaged = refusalOfDamaged(scriptId, taken.content)?.outcome;
    if (damaged?.status === 'failed') return { ok: false, error: damaged.error };
    return { ok: true, calls: await revertClaimedScript(services, revertContext(context), scriptId, taken.epoch) };
  } catch (error) {
    reportInternalError(services, scriptId, storeFailure(error));
    const message =
      'The store failed while calls were being undone. List the calls of the script to see which are undone, then try again.';
    return { ok: false, error: scriptFailure('StoreError', message, { retryable: true }) };
  } finally {
    await leases.release(scriptId, taken.epoch);
  }
}

/**
 * Reverts the calls of a claimed script. The calls are listed again, because another process may have reverted some of
 * them before the claim.
 */
async function revertClaimedScript(
  services: HarnessServices,
  context: RunContext,
  scriptId: string,
  epoch: number,
): Promise<RevertibleCall[]> {
  const details = (await inspectScript(services, scriptId))!;
  const states = await revertStates(services, scriptId);
  const done: RevertibleCall[] = [];
  for (const operation of changing(details)) {
    const call = revertibleCall(services, operation, states.get(operation.callId));
    if (call.status !== 'revertible') continue;
    if (context.signal?.aborted === true) break;
    const error = await revertOne(services, context, { scriptId, epoch, operation });
    done.push({ ...call, status: error === undefined ? 'reverted' : 'failed', ...(error && { reason: error }) });
    if (error !== undefined) break;
  }
  return done;
}

/** Reverts one call. Returns the reason for a failure; undefined if the call was reverted. */
async function revertOne(
  services: HarnessServices,
  context: RunContext,
  { scriptId, epoch, operation }: { scriptId: string; epoch: number; operation: Operation },
): Promise<string | undefined> {
  const { callId } = operation;
  const { journal } = requireKeeping(services, 'revert').leases.store;
  const write = async (state: RevertState) => {
    const line: JournalLine = { t: 'revert', atMs: Date.now(), callId, state };
    await journal.append(scriptId, epoch, [JSON.stringify(line)]);
  };
  const tool = revertingTool(services.registry.get(operation.tool)!, operation, scriptId, () => write('started'));
  const alone = { ...services, registry: createRegistry([tool]), exposed: new Set([tool.name]) };
  const call = { callId: `${callId}_revert`, name: tool.name, input: operation.input };
  const { status, error } = await callOnce(alone, context, call);
  // A denied revert did not start, and can be made later.
  if (status === 'denied') return error?.message ?? 'its revert was denied';
  await write(status === 'completed' ? 'done' : 'failed');
  return status === 'completed' ? undefined : (error?.message ?? `its revert is ${status}`);
}

/** Returns a tool whose execution is the revert. The tool keeps its name, so that the rules of the tool apply. */
function revertingTool(tool: Tool, operation: Operation, scriptId: string, onStart: () => Promise<void>): Tool {
  const { callId, input, result } = operation;
  return {
    ...tool,
    outputSchema: {},
    validateInput: (value) => ({ ok: true, value: value as JsonValue }),
    validateOutput: () => ({ ok: true, value: null }),
    preview: async (value, scope) =>
      `Undo this call:\n${(await tool.preview?.(value, scope)) ?? JSON.stringify(value, null, 2)}`,
    execute: async (_value: never, context: ToolCallContext) => {
      await onStart();
      const own = { ...context, callId, scriptId, idempotencyKey: `${scriptId}:${callId}:revert` };
      await tool.revert!(input as never, result as never, own);
      return null;
    },
  };
}

/** Returns the calls that may have had an effect, newest first. */
function changing({ operations }: KeptScriptDetails): Operation[] {
  const effective = ['completed', 'aborted', 'unknown', 'detached'];
  return operations.filter(({ effect, status }) => effect !== 'read' && effective.includes(status)).toReversed();
}

function revertibleCall(
  services: HarnessServices,
  { callId, tool, input, line, status, resultOmitted }: Operation,
  state: RevertState | undefined,
): RevertibleCall {
  const call = { callId, tool, input, line };
  if (state === 'done') return { ...call, status: 'reverted' };
  // A revert that started and did not end is retried only if the tool is idempotent. A failed revert is retried.
  if (state === 'started' && services.registry.get(tool)?.idempotent !== true)
    return { ...call, status: 'unknown', reason: 'its revert started, and nobody knows whether it took effect' };
  const reason = whyNot(services.registry.get(tool), status, resultOmitted === true);
  return reason === undefined ? { ...call, status: 'revertible' } : { ...call, status: 'not_undone', reason };
}

function whyNot(tool: Tool | undefined, status: Operation['status'], isOmitted: boolean): string | undefined {
  if (tool === undefined) return 'the harness has no such tool';
  if (tool.revert === undefined) return 'the tool cannot undo its calls';
  if (status === 'detached') return 'it is still running';
  if (status !== 'completed') return 'nobody knows whether it took effect';
  return isOmitted ? 'its result was too large to be stored' : undefined;
}

async function revertStates(services: HarnessServices, scriptId: string): Promise<ReadonlyMap<string, RevertState>> {
  const content = await requireKeeping(services, 'revert').leases.store.journal.read(scriptId);
  return (content && journalState(content)?.reverts) ?? new Map();
}

/** Returns the context of reverts, which do not outlive their process: the answer `suspend` is a denial. */
function revertContext(context: RunContext): RunContext {
  return Object.freeze({ ...context, approvals: withoutSuspending(context.approvals) });
}

function withoutSuspending(policy: ApprovalPolicy | undefined): ApprovalPolicy | undefined {
  if (typeof policy === 'function') return answering(policy);
  if (typeof policy !== 'object' || !('rules' in policy) || policy.ask === undefined) return policy;
  return { ...policy, ask: answering(policy.ask) };
}

function answering(ask: ApprovalCallback): ApprovalCallback {
  return async (request) => {
    const answer = await ask(request);
    return answer === 'suspend' ? { decision: 'deny', note: 'no user decided about its revert' } : answer;
  };
}

function refusedRevert(message: string): RevertResult {
  return { ok: false, error: scriptFailure('SuspensionError', message) };
}
