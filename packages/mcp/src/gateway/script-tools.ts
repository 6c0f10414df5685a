import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  RegisteredTool,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { Outcome, ResumeOptions, StreamEvent } from '@toolscript/core';
import { renderOutcomeParts } from '@toolscript/core/history';
import { z } from 'zod';
import type { GatewayServices, PendingState } from './services.js';
import { userDecisions, askUser, canAskUser } from './user-questions.js';
import { waitForDecisions } from './wait-for-decisions.js';

type SuspendedScript = Extract<Outcome, { status: 'suspended' }>;
type Answer = CallToolResult | InputRequiredResult;

const ResultSchema = z.object({
  status: z.enum(['completed', 'failed', 'suspended']),
  scriptId: z.string(),
  value: z.unknown().optional(),
  valueOmitted: z.boolean().optional(),
  error: z.object({ code: z.string(), message: z.string(), line: z.number().optional() }).optional(),
  output: z.string(),
  logs: z.array(z.string()),
  operations: z.array(z.object({ tool: z.string(), status: z.string() })),
});

const UNDECIDED =
  'No user has decided about the call, and the script is not stored, so the call is denied. Use a client that shows forms, and answer the form.';

/**
 * Registers `run_script`, which is returned, and `resume_script`, which waits for decisions and then resumes the
 * script. Neither tool accepts a decision from a model.
 */
export function registerScriptTools(server: McpServer, services: GatewayServices): RegisteredTool {
  const runScript = server.registerTool(
    'run_script',
    {
      description: services.instructions,
      inputSchema: z.object({ code: z.string().describe('TypeScript with top-level await and return') }),
      outputSchema: ResultSchema,
    },
    async ({ code }, ctx) => {
      const pending = ctx.mcpReq.requestState<PendingState>();
      const outcome =
        pending === undefined
          ? await services.harness.runScript(code, runOptions(services, ctx))
          : await resumeWithDecisions(services, pending, ctx);
      return answer(server, services, ctx, outcome, code);
    },
  );
  server.registerTool(
    'resume_script',
    {
      description:
        "Waits until a user has decided about a suspended script, and returns the script's result. This tool decides nothing itself.",
      inputSchema: z.object({ scriptId: z.string() }),
      outputSchema: ResultSchema,
    },
    async ({ scriptId }, ctx) => {
      const pending = ctx.mcpReq.requestState<PendingState>();
      if (pending !== undefined)
        return answer(server, services, ctx, await resumeWithDecisions(services, pending, ctx), undefined);
      const waited = await waitForDecisions(services, scriptId, ctx.mcpReq.signal);
      const ended = services.past.endedOutcome(scriptId);
      if (ended !== undefined) return outcomeResult(services, ended, undefined);
      if ('report' in waited) return { content: [{ type: 'text', text: waited.report }], isError: true };
      const resume = () => services.harness.resume(scriptId, {}, runOptions(services, ctx));
      return answer(server, services, ctx, await services.past.resuming(scriptId, resume), undefined);
    },
  );
  return runScript;
}

function runOptions({ principal, app }: GatewayServices, ctx: ServerContext): ResumeOptions {
  return {
    signal: ctx.mcpReq.signal,
    onEvent: progressTo(ctx),
    ...(principal === undefined ? {} : { principal }),
    ...(app === undefined ? {} : { app }),
  };
}

/** Forwards the script's progress as progress of the call, if the client requests it. */
function progressTo({ mcpReq }: ServerContext): (event: StreamEvent) => void {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  return ({ payload }) => {
    if (progressToken === undefined || payload.type !== 'script_progress') return;
    progress += 1;
    const params = { progressToken, progress, message: payload.message };
    // A disconnected client needs no progress.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

/**
 * Resumes a script with the user's decisions, which the client sends separately from the arguments of the call. Only
 * decisions about the approvals in `pending` count.
 */
function resumeWithDecisions(services: GatewayServices, pending: PendingState, ctx: ServerContext): Promise<Outcome> {
  const decisions = services.mayDecide ? userDecisions(ctx.mcpReq.inputResponses, pending.approvals) : {};
  return services.harness.resume(pending.scriptId, decisions, runOptions(services, ctx));
}

async function answer(
  server: McpServer,
  services: GatewayServices,
  ctx: ServerContext,
  outcome: Outcome,
  code: string | undefined,
): Promise<Answer> {
  services.past.add(outcome, code);
  if (outcome.status !== 'suspended') return outcomeResult(services, outcome, code);
  const isAnswered = ctx.mcpReq.inputResponses !== undefined && wasAskedBefore(ctx, outcome);
  // defence: mcp-callers-decide-by-scope
  const mayAsk = services.mayDecide && canAskUser(server, ctx);
  if (mayAsk && !isAnswered) return askUser(outcome, await mintState(services, outcome, ctx));
  if (services.harness.hasStore) return outcomeResult(services, outcome, code, resumeAdvice(services, outcome));
  const denied = Object.fromEntries(
    outcome.pendingApprovals.map(({ approvalId }) => [approvalId, { decision: 'deny', note: UNDECIDED } as const]),
  );
  return answer(
    server,
    services,
    ctx,
    await services.harness.resume(outcome.scriptId, denied, runOptions(services, ctx)),
    code,
  );
}

/** Whether the user was already asked about all of these calls and has not decided. Asking again would loop. */
function wasAskedBefore(ctx: ServerContext, { pendingApprovals }: SuspendedScript): boolean {
  const asked = ctx.mcpReq.requestState<PendingState>()?.approvals ?? [];
  return pendingApprovals.every(({ approvalId }) => asked.includes(approvalId));
}

function mintState({ state }: GatewayServices, { scriptId, pendingApprovals }: SuspendedScript, ctx: ServerContext) {
  return state.mint({ scriptId, approvals: pendingApprovals.map(({ approvalId }) => approvalId) }, ctx);
}

function resumeAdvice({ howToDecide }: GatewayServices, { scriptId }: SuspendedScript): string {
  const where = howToDecide?.(scriptId) ?? 'in the program that runs this server';
  return `A user must decide first: ${where}. Ask the user to do so, then call resume_script with { "scriptId": "${scriptId}" } to wait for the decision.`;
}

async function outcomeResult(
  { harness, loadImage }: GatewayServices,
  outcome: Outcome,
  code: string | undefined,
  more?: string,
): Promise<CallToolResult> {
  const parts = await renderOutcomeParts(outcome, {
    tokenBudget: harness.limits.modelOutputTokens,
    ...(code === undefined ? {} : { source: code }),
    ...(loadImage === undefined ? {} : { loadImage }),
  });
  const content = parts.map((part) =>
    part.type === 'text'
      ? { type: 'text' as const, text: part.text }
      : { type: 'image' as const, data: part.data, mimeType: part.media_type },
  );
  return {
    content: more === undefined ? content : [...content, { type: 'text', text: more }],
    structuredContent: structuredOutcome(outcome, harness.limits.modelOutputTokens * BYTES_PER_TOKEN),
    ...(outcome.status === 'failed' ? { isError: true } : {}),
  };
}

const BYTES_PER_TOKEN = 4;

/** The outcome as data. A value that is too large for a model is omitted. */
function structuredOutcome(outcome: Outcome, maxLength: number): z.infer<typeof ResultSchema> {
  const { status, scriptId, output, logs, operations } = outcome;
  const hasValue = outcome.status === 'completed' && outcome.value !== undefined;
  const isLarge = hasValue && JSON.stringify(outcome.value).length > maxLength;
  return {
    status,
    scriptId,
    ...(hasValue && !isLarge ? { value: outcome.value } : {}),
    ...(isLarge ? { valueOmitted: true } : {}),
    ...(outcome.status === 'failed' ? { error: outcomeError(outcome.error) } : {}),
    output: output.slice(0, maxLength),
    logs: logs.map(({ level, text }) => `${level}: ${text}`),
    operations: operations.map((operation) => ({ tool: operation.tool, status: operation.status })),
  };
}

function outcomeError({ code, message, line }: Extract<Outcome, { status: 'failed' }>['error']) {
  return { code, message, ...(line === undefined ? {} : { line }) };
}
