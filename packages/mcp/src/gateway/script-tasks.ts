import {
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type JSONRPCRequest,
  type McpServer,
  type RegisteredTool,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Outcome } from '@toolscript/core';
import { isRecord } from '@toolscript/core/internal';
import { z } from 'zod';
import { TASKS_EXTENSION } from '../connection/server-task.js';
import { runForCall, withUnanswered, type Answer } from './call-run.js';
import { outcomeResult } from './outcome-result.js';
import type { GatewayServices } from './services.js';
import type { OfferedRules } from './suggested-rule.js';
import type { TaskServer } from './task-server.js';
import {
  mayAskUser,
  declaredCapabilities,
  decisionForm,
  userDecisions,
  type SuspendedOutcome,
} from './user-questions.js';

/** The protocol 2025-11-25 has tasks in its core; with 2026-07-28, they are an extension. */
type TaskKind = 'core' | 'extension';

export const TASK_CAPABILITIES = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [TASKS_EXTENSION]: {} },
};

/** The time in ms after which a script becomes a task. A client of the core waits for the task itself. */
const YIELD_MS: Readonly<Record<TaskKind, number>> = { core: 1, extension: 1_000 };
const POLL_MS = 1_000;
const ListParams = z.looseObject({ cursor: z.string().optional() });
/** The questions of a task offer no rules. */
const NO_RULES: OfferedRules = new Map();
/** A user needs longer to read a question. */
const INSTANT_MS = 1_000;

/** The calls of `run_script` that may become tasks. */
export class TaskCalls {
  readonly #kinds = new WeakMap<ServerContext, TaskKind>();

  add(ctx: ServerContext, kind: TaskKind): void {
    this.#kinds.set(ctx, kind);
  }

  servicesFor(services: GatewayServices, ctx: ServerContext): GatewayServices {
    const kind = this.#kinds.get(ctx);
    return kind === undefined ? services : atOnce(services, YIELD_MS[kind]);
  }

  /** Whether the client receives a task, and asks for the result later. */
  isTask(ctx: ServerContext, { status }: Outcome): boolean {
    const kind = this.#kinds.get(ctx);
    return kind !== undefined && (status === 'running' || (kind === 'core' && status !== 'suspended'));
  }
}

interface ScriptCalls {
  readonly runScript: RegisteredTool;
  readonly taskCalls: TaskCalls;
  /** Waits for a script as long as a call waits. */
  readonly wait: (services: GatewayServices, scriptId: string, ctx: ServerContext) => Promise<Outcome>;
  /** The result of a script about which no user decides now. */
  readonly undecided: (
    server: McpServer,
    services: GatewayServices,
    ctx: ServerContext,
    outcome: SuspendedOutcome,
  ) => Promise<Answer>;
}

/** Lets clients that have tasks run scripts as tasks: the id of the task is the id of the script. */
export function offerTasks(server: TaskServer, services: GatewayServices, calls: ScriptCalls): void {
  calls.runScript.execution = { taskSupport: 'optional' };
  const tasks = new ScriptTasks(server, services, calls);
  tasks.offer();
}

class ScriptTasks {
  readonly #server: TaskServer;
  readonly #services: GatewayServices;
  readonly #calls: ScriptCalls;

  constructor(server: TaskServer, services: GatewayServices, calls: ScriptCalls) {
    this.#server = server;
    this.#services = services;
    this.#calls = calls;
  }

  offer(): void {
    this.#server.server.answerCall = async (request, ctx, callTool) => {
      const kind = this.#kindOf(request, ctx);
      if (kind !== undefined) this.#calls.taskCalls.add(ctx, kind);
      const result = await callTool(request, ctx);
      return kind === undefined ? result : this.#started(result, kind);
    };
    this.#server.server.setRequestHandler(
      'tasks/list',
      { params: ListParams },
      ({ cursor }, ctx) => this.#list(cursor, ctx) as never,
    );
    this.#handle('tasks/get', (id, ctx) => this.#report(id, ctx));
    this.#handle('tasks/result', (id, ctx) => this.#result(id, ctx));
    this.#handle('tasks/update', (id, ctx) => this.#update(id, ctx));
    this.#handle('tasks/cancel', (id, ctx) => this.#cancel(id, ctx));
  }

  #handle(method: string, answer: (scriptId: string, ctx: ServerContext) => Promise<object>): void {
    const params = z.looseObject({ taskId: z.string() });
    this.#server.server.setRequestHandler(method, { params }, ({ taskId }, ctx) => {
      if (isExtension(ctx) && !this.#hasExtension(ctx)) throw missingExtension();
      return answer(taskId, ctx) as never;
    });
  }

  #kindOf({ params: { name, task } = {} }: JSONRPCRequest, ctx: ServerContext): TaskKind | undefined {
    if (name !== 'run_script') return undefined;
    if (isExtension(ctx)) return this.#hasExtension(ctx) ? 'extension' : undefined;
    return task === undefined ? undefined : 'core';
  }

  #hasExtension(ctx: ServerContext): boolean {
    return TASKS_EXTENSION in (declaredCapabilities(this.#server, ctx)?.extensions ?? {});
  }

  /** The answer to a call whose script runs on. Other results stay as they are. */
  #started(result: Result, kind: TaskKind): Result {
    const data = result['structuredContent'];
    if (!isRecord(data) || typeof data['scriptId'] !== 'string') return result;
    if (kind === 'extension' && data['status'] !== 'running') return result;
    const task = scriptTask(this.#services, data['scriptId'], 'working', kind);
    return kind === 'core' ? { task } : { ...task, resultType: 'task' };
  }

  /** The tasks of the caller, on one page. Only the core of the protocol has such a list. */
  async #list(cursor: string | undefined, ctx: ServerContext): Promise<object> {
    if (cursor !== undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The list of tasks has one page. Omit the cursor.');
    const reports = this.#services.past.taskIds().map((id) => this.#report(id, ctx));
    const settled = await Promise.allSettled(reports);
    return { tasks: settled.flatMap((report) => (report.status === 'fulfilled' ? [report.value] : [])) };
  }

  async #report(scriptId: string, ctx: ServerContext): Promise<object> {
    const outcome = await this.#look(scriptId, ctx);
    const status = this.#statusOf(outcome, ctx);
    const kind = isExtension(ctx) ? 'extension' : 'core';
    const task = scriptTask(this.#services, scriptId, status, kind);
    if (status === 'cancelled') return { ...task, statusMessage: shownCalls(outcome) };
    if (kind === 'core') return task;
    if (status === 'completed') return { ...task, result: await this.#ending(outcome, ctx) };
    return status === 'input_required'
      ? { ...task, inputRequests: this.#questions(outcome as SuspendedOutcome) }
      : task;
  }

  /** Waits for the end. In the core of the protocol, a user is asked during this request. */
  async #result(scriptId: string, ctx: ServerContext): Promise<object> {
    const { wait } = this.#calls;
    for (let outcome = await this.#look(scriptId, ctx); ; outcome = await wait(this.#services, scriptId, ctx)) {
      ctx.mcpReq.signal.throwIfAborted();
      const status = this.#statusOf(outcome, ctx);
      if (status === 'input_required') await this.#ask(outcome as SuspendedOutcome, ctx);
      if (status === 'completed' || status === 'cancelled')
        return { ...(await this.#ending(outcome, ctx)), _meta: { [RELATED_TASK_META_KEY]: { taskId: scriptId } } };
    }
  }

  async #ask(outcome: SuspendedOutcome, ctx: ServerContext): Promise<void> {
    const answers: Record<string, unknown> = {};
    for (const pending of outcome.pendingApprovals)
      answers[pending.approvalId] = await ctx.mcpReq.elicitInput({ mode: 'form', ...decisionForm(pending) });
    await this.#decide(outcome, answers, ctx);
  }

  /** A request for each decision that was not asked for before. */
  #questions({ scriptId, pendingApprovals }: SuspendedOutcome): object {
    const { answered } = this.#services.past.task(scriptId);
    const open = pendingApprovals.filter(({ approvalId }) => !answered.has(approvalId));
    const request = (pending: (typeof open)[number]) => ({
      method: 'elicitation/create',
      params: { mode: 'form', ...decisionForm(pending) },
    });
    return Object.fromEntries(open.map((pending) => [pending.approvalId, request(pending)]));
  }

  async #update(scriptId: string, ctx: ServerContext): Promise<object> {
    const outcome = await this.#look(scriptId, ctx);
    if (outcome.status === 'suspended') await this.#decide(outcome, ctx.mcpReq.inputResponses ?? {}, ctx);
    return {};
  }

  async #cancel(scriptId: string, ctx: ServerContext): Promise<object> {
    const { harness, principal, past } = this.#services;
    const outcome = await this.#look(scriptId, ctx);
    if (isOver(outcome)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The task has ended.');
    past.add(await harness.cancelScript(scriptId, { principal }));
    return isExtension(ctx) ? {} : this.#report(scriptId, ctx);
  }

  /** Continues a script with the answers of the user. An answer that decides nothing is not asked for again. */
  async #decide(outcome: SuspendedOutcome, answers: Readonly<Record<string, unknown>>, ctx: ServerContext) {
    const { harness, past, mayDecide, instantMs = INSTANT_MS } = this.#services;
    const { scriptId } = outcome;
    const { answered, changedAtMs } = past.task(scriptId);
    const approvals = outcome.pendingApprovals.map(({ approvalId }) => approvalId);
    for (const id of approvals) if (Object.hasOwn(answers, id)) answered.add(id);
    const isInstant = performance.now() - changedAtMs < instantMs;
    const decisions = mayDecide ? await userDecisions(answers, { approvals, offered: NO_RULES }, isInstant) : {};
    if (Object.keys(decisions).length === 0) return;
    const services = atOnce(this.#services, YIELD_MS.core);
    const resume = () => runForCall(services, ctx, (options) => harness.resume(scriptId, decisions, options), scriptId);
    past.add(await past.resuming(scriptId, resume));
  }

  /** The outcome of a script now. */
  async #look(scriptId: string, ctx: ServerContext): Promise<Outcome> {
    const outcome = await this.#calls.wait(atOnce(this.#services, YIELD_MS.core), scriptId, ctx);
    if (outcome.error?.code === 'ScriptNotFoundError')
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Task not found: there is no script "${scriptId}".`);
    this.#services.past.add(outcome);
    return outcome;
  }

  async #ending(outcome: Outcome, ctx: ServerContext): Promise<object> {
    if (outcome.status === 'suspended') return this.#calls.undecided(this.#server, this.#services, ctx, outcome);
    return withUnanswered(this.#services, ctx, await outcomeResult(this.#services, outcome, undefined));
  }

  #statusOf(outcome: Outcome, ctx: ServerContext): ReturnType<typeof taskStatus> {
    const { answered } = this.#services.past.task(outcome.scriptId);
    const mayAsk = mayAskUser(this.#services, this.#server, ctx);
    return taskStatus(outcome, (approvalId) => mayAsk && !answered.has(approvalId));
  }
}

const isExtension = ({ mcpReq }: ServerContext) => mcpReq.envelope !== undefined;

const atOnce = (services: GatewayServices, yieldAfterMs: number): GatewayServices => ({
  ...services,
  yieldAfterMs: Math.min(yieldAfterMs, services.yieldAfterMs ?? yieldAfterMs),
});

function isOver({ status, error }: Outcome): boolean {
  return status === 'completed' || (status === 'failed' && error.code !== 'ScriptInterruptedError');
}

function taskStatus(outcome: Outcome, mayAsk: (approvalId: string) => boolean) {
  if (outcome.status === 'running') return 'working';
  if (outcome.status === 'failed' && outcome.error.code === 'ScriptCancelledError') return 'cancelled';
  const asks = outcome.status === 'suspended' && outcome.pendingApprovals.some(({ approvalId }) => mayAsk(approvalId));
  return asks ? 'input_required' : 'completed';
}

/** The report of a task, without its result. */
function scriptTask({ past }: GatewayServices, taskId: string, status: ReturnType<typeof taskStatus>, kind: TaskKind) {
  const task = past.task(taskId);
  if (task.status !== status) Object.assign(task, { status, changedAt: new Date(), changedAtMs: performance.now() });
  const times = { createdAt: task.createdAt.toISOString(), lastUpdatedAt: task.changedAt.toISOString() };
  const limits = kind === 'core' ? { ttl: null, pollInterval: POLL_MS } : { ttlMs: null, pollIntervalMs: POLL_MS };
  return { taskId, status, ...times, ...limits };
}

function shownCalls({ operations }: Outcome): string {
  const calls = operations.map(({ tool, status }) => `${tool} ${status}`).join(', ');
  return `The script was cancelled. Its calls: ${calls === '' ? 'none' : calls}.`;
}

function missingExtension(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.MissingRequiredClientCapability,
    `Missing required client capability: ${TASKS_EXTENSION}`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  );
}
