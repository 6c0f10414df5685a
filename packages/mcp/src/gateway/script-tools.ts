import type { CallToolResult, McpServer, RegisteredTool, ServerContext } from '@modelcontextprotocol/server';
import type { Outcome, ResumeOptions } from '@toolscript/core';
import { z } from 'zod';
import { outcomeResult } from './outcome-result.js';
import { callWaitMs, ownerOptions, runForCall, withUnanswered, type Answer } from './call-run.js';
import { withProgress } from './progress.js';
import { offerTasks, TaskCalls } from './script-tasks.js';
import { SHOWN_WHOLE, type GatewayServices, type PendingState } from './services.js';
import type { OfferedRules, SuggestedRule } from './suggested-rule.js';
import { userDecisions, askUser, mayAskUser, type SuspendedOutcome } from './user-questions.js';
import { waitForDecisions } from './wait-for-decisions.js';
import type { TaskServer } from './task-server.js';
import { textPart } from './value-text.js';

/** A user needs longer to read a question. */
const INSTANT_MS = 1_000;
const UNDECIDED =
  'No user has decided about the call, and the script is not stored, so the call is denied. Use a client that shows forms, and answer the form.';

const RunInputSchema = z.object({
  code: z.string().describe('TypeScript with top-level await and return'),
  session: z
    .string()
    .regex(/^[\w-]{1,64}$/u)
    .optional()
    .describe('A name that you choose. Scripts with the same session share their top-level variables and functions'),
});

/** The input of `run_script`, with a `session` if the scripts of the harness can share their variables. */
function runInput({ harness }: GatewayServices): typeof RunInputSchema {
  if (harness.scripts === 'one-program') return RunInputSchema;
  return RunInputSchema.omit({ session: true }) as unknown as typeof RunInputSchema;
}

/**
 * Registers `run_script`, which is returned, and `resume_script`, which waits for decisions and then resumes the
 * script. Neither tool accepts a decision from a model.
 */
export function registerScriptTools(server: TaskServer, services: GatewayServices): RegisteredTool {
  const taskCalls = new TaskCalls();
  // The gateway knows only what the scripts of this session have returned.
  const origin = { userTexts: [], hasReadUntrusted: false };
  const runScript = server.registerTool(
    'run_script',
    {
      _meta: SHOWN_WHOLE,
      description: services.offered().description,
      inputSchema: runInput(services),
    },
    async ({ code, session }, ctx) => {
      const pending = ctx.mcpReq.requestState<PendingState>();
      const own = taskCalls.servicesFor(services, ctx);
      const outcome =
        pending === undefined
          ? await runForCall(own, ctx, (options) =>
              services.past.sessions.run(session, (own) =>
                services.harness.runScript(code, { ...options, ...own, origin: { ...origin } }),
              ),
            )
          : await resumeWithDecisions(own, pending, ctx);
      origin.hasReadUntrusted ||= outcome.untrusted === true;
      if (!taskCalls.isTask(ctx, outcome)) return answer(server, services, ctx, outcome, code);
      services.past.add(outcome, code);
      return outcomeResult(services, outcome, code);
    },
  );
  offerTasks(server, services, { runScript, taskCalls, wait: waitForScript, undecided });
  registerWaits(server, services);
  server.registerTool(
    'resume_script',
    {
      _meta: SHOWN_WHOLE,
      description:
        "Waits until a user has decided about a suspended script, and returns the script's result. This tool decides nothing itself.",
      inputSchema: z.object({ scriptId: z.string() }),
    },
    async ({ scriptId }, ctx) => {
      const pending = ctx.mcpReq.requestState<PendingState>();
      if (pending !== undefined)
        return answer(server, services, ctx, await resumeWithDecisions(services, pending, ctx), undefined);
      const waited = await waitForDecisions(services, scriptId, ctx.mcpReq.signal);
      const ended = services.past.endedOutcome(scriptId);
      if (ended !== undefined) return outcomeAnswer(services, ctx, ended, undefined);
      if ('report' in waited) return report(waited.report);
      const resume = () =>
        runForCall(services, ctx, (options) => services.harness.resume(scriptId, {}, options), scriptId);
      return answer(server, services, ctx, await services.past.resuming(scriptId, resume), undefined);
    },
  );
  registerReadValue(server, services);
  return runScript;
}

function registerReadValue(server: McpServer, services: GatewayServices): void {
  server.registerTool(
    'read_value',
    {
      _meta: SHOWN_WHOLE,
      description: 'Reads a part of the value of a script whose result said that the value is too large to show.',
      inputSchema: z.object({ scriptId: z.string(), offset: z.number().int().min(0).optional() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ scriptId, offset = 0 }, ctx) => {
      const value = services.past.valueText(scriptId);
      if (value === undefined)
        return report(
          `There is no value of a script "${scriptId}". The values of the last scripts are kept while the gateway runs. Run the script again.`,
        );
      const maxLength = services.harness.limits.modelOutputTokens * 3;
      const content = [{ type: 'text' as const, text: textPart(value, offset, maxLength) }];
      return withUnanswered(services, ctx, { content });
    },
  );
}

/** Registers `wait_script` and `cancel_script`, for scripts that run longer than a call. */
function registerWaits(server: McpServer, services: GatewayServices): void {
  server.registerTool(
    'wait_script',
    {
      _meta: SHOWN_WHOLE,
      description: 'Waits for the result of a script that still runs.',
      inputSchema: z.object({ scriptId: z.string() }),
    },
    async ({ scriptId }, ctx) => {
      const pending = ctx.mcpReq.requestState<PendingState>();
      const outcome =
        pending === undefined
          ? await waitForScript(services, scriptId, ctx)
          : await resumeWithDecisions(services, pending, ctx);
      return answer(server, services, ctx, outcome, undefined);
    },
  );
  server.registerTool(
    'cancel_script',
    {
      _meta: SHOWN_WHOLE,
      description: 'Cancels a script that still runs or waits for a decision. Returns what it has done.',
      inputSchema: z.object({ scriptId: z.string() }),
    },
    async ({ scriptId }, ctx) => {
      const { harness, principal, past } = services;
      const outcome = past.endedOutcome(scriptId) ?? (await harness.cancelScript(scriptId, { principal }));
      past.add(outcome);
      return outcomeAnswer(services, ctx, outcome, undefined);
    },
  );
}

/** Waits for a script. A script whose process has ended continues in this process. */
async function waitForScript(services: GatewayServices, scriptId: string, ctx: ServerContext): Promise<Outcome> {
  const { harness, principal, past, progressMs } = services;
  const ended = past.endedOutcome(scriptId);
  if (ended !== undefined) return ended;
  const { signal } = ctx.mcpReq;
  const forMs = callWaitMs(services);
  const outcome = await withProgress(ctx, progressMs, () => harness.waitScript(scriptId, { forMs, principal, signal }));
  if (outcome.error?.code !== 'ScriptInterruptedError') return outcome;
  // The end of the call ends only the wait.
  const options = { yieldAfterMs: forMs, ...ownerOptions(services) };
  const recover = async (onEvent: ResumeOptions['onEvent']) => {
    await services.ready?.();
    return harness.recover(scriptId, { ...options, onEvent });
  };
  return past.resuming(scriptId, () => withProgress(ctx, progressMs, recover));
}

/** The result of a script, with a report on earlier scripts without an answer. */
async function outcomeAnswer(
  services: GatewayServices,
  ctx: ServerContext,
  outcome: Outcome,
  code: string | undefined,
  next = outcome.status === 'running' ? waitAdvice(outcome) : undefined,
): Promise<Answer> {
  return withUnanswered(services, ctx, await outcomeResult(services, outcome, code, next));
}

function waitAdvice({ scriptId }: Outcome): string {
  return `The script continues. Call wait_script with { "scriptId": "${scriptId}" } for its result, or cancel_script to end it.`;
}

/** The result of a call that did nothing. */
function report(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/**
 * Resumes a script with the user's decisions, which the client sends separately from the arguments of the call. Only
 * decisions about the approvals in `pending` count.
 */
async function resumeWithDecisions(
  services: GatewayServices,
  { scriptId, approvals, askedAtMs }: PendingState,
  ctx: ServerContext,
): Promise<Outcome> {
  const isInstant = Date.now() - askedAtMs < (services.instantMs ?? INSTANT_MS);
  const asked = { approvals, offered: services.past.takeOffered(scriptId) };
  const decisions = services.mayDecide ? await userDecisions(ctx.mcpReq.inputResponses, asked, isInstant) : {};
  return runForCall(services, ctx, (options) => services.harness.resume(scriptId, decisions, options), scriptId);
}

async function answer(
  server: McpServer,
  services: GatewayServices,
  ctx: ServerContext,
  outcome: Outcome,
  code: string | undefined,
): Promise<Answer> {
  services.past.add(outcome, code);
  if (outcome.status !== 'suspended') return outcomeAnswer(services, ctx, outcome, code);
  const isAnswered = ctx.mcpReq.inputResponses !== undefined && wasAskedBefore(ctx, outcome);
  if (mayAskUser(services, server, ctx) && !isAnswered)
    return askUser(outcome, offerRules(services, outcome), await mintState(services, outcome, ctx));
  return undecided(server, services, ctx, outcome, code);
}

/** The result of a script about which no user decides now. */
async function undecided(
  server: McpServer,
  services: GatewayServices,
  ctx: ServerContext,
  outcome: SuspendedOutcome,
  code?: string,
): Promise<Answer> {
  if (services.harness.hasStore) return outcomeAnswer(services, ctx, outcome, code, resumeAdvice(services, outcome));
  const denied = Object.fromEntries(
    outcome.pendingApprovals.map(({ approvalId }) => [approvalId, { decision: 'deny', note: UNDECIDED } as const]),
  );
  return answer(
    server,
    services,
    ctx,
    await runForCall(
      services,
      ctx,
      (options) => services.harness.resume(outcome.scriptId, denied, options),
      outcome.scriptId,
    ),
    code,
  );
}

/** The rules that the user may choose. */
function offerRules(
  { mayRemember = false, suggestRule, past }: GatewayServices,
  { scriptId, pendingApprovals }: SuspendedOutcome,
): OfferedRules {
  // defence: mcp-rules-of-administrators
  const calls = mayRemember ? pendingApprovals : [];
  const offered = new Map(
    calls.flatMap((call): [string, SuggestedRule][] => {
      const rule = suggestRule?.(call);
      return rule === undefined ? [] : [[call.approvalId, rule]];
    }),
  );
  past.offer(scriptId, offered);
  return offered;
}

/** Whether the user was already asked about all of these calls and has not decided. Asking again would loop. */
function wasAskedBefore(ctx: ServerContext, { pendingApprovals }: SuspendedOutcome): boolean {
  const asked = ctx.mcpReq.requestState<PendingState>()?.approvals ?? [];
  return pendingApprovals.every(({ approvalId }) => asked.includes(approvalId));
}

function mintState({ state }: GatewayServices, { scriptId, pendingApprovals }: SuspendedOutcome, ctx: ServerContext) {
  const approvals = pendingApprovals.map(({ approvalId }) => approvalId);
  return state.mint({ scriptId, approvals, askedAtMs: Date.now() }, ctx);
}

function resumeAdvice({ howToDecide }: GatewayServices, { scriptId }: SuspendedOutcome): string {
  const where = howToDecide?.(scriptId) ?? 'in the program that runs this server';
  return `A user must decide first: ${where}. Ask the user to do so, then call resume_script with { "scriptId": "${scriptId}" } to wait for the decision.`;
}
