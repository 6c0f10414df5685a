import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import type { Outcome, ResumeOptions, StreamEvent } from '@toolscript/core';
import { withProgress } from './progress.js';
import type { GatewayServices } from './services.js';

export type Answer = CallToolResult | InputRequiredResult;

/** Clients give up after 60 s. */
const YIELD_AFTER_MS = 45_000;
const TIME_OUT = /time(?:d)?[ -]?out/iu;
/** Maximum time for a cancelled script to end, before it is reported as running. */
const END_WAIT_MS = 1_000;

/** The options of a script whose owner is the caller of the gateway. */
export function ownerOptions({ principal, app }: GatewayServices): Pick<ResumeOptions, 'principal' | 'app'> {
  return { ...(principal === undefined ? {} : { principal }), ...(app === undefined ? {} : { app }) };
}

/** The time for which a call waits for its script, in ms. */
export function callWaitMs({ yieldAfterMs = YIELD_AFTER_MS }: GatewayServices): number {
  return yieldAfterMs;
}

/**
 * Runs or resumes a script as the work of a call, with its progress. A cancellation of the call cancels the script; a
 * time-out of the client does not. In both cases, the next call of the caller reports the script. `scriptId`: the
 * script that is resumed.
 */
export async function runForCall(
  services: GatewayServices,
  ctx: ServerContext,
  run: (options: ResumeOptions) => Promise<Outcome>,
  scriptId?: string,
): Promise<Outcome> {
  const { signal } = ctx.mcpReq;
  const stop = new AbortController();
  const call = new UnansweredCall(services, scriptId);
  const end = () => {
    call.end();
    if (!TIME_OUT.test(String(signal.reason))) stop.abort(signal.reason);
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  const options = { signal: stop.signal, yieldAfterMs: callWaitMs(services), ...ownerOptions(services) };
  try {
    return await withProgress(ctx, services.progressMs, async (report) => {
      await services.ready?.();
      const onEvent = (event: StreamEvent) => {
        call.follow(event);
        report(event);
      };
      return run({ ...options, onEvent });
    });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Notes the script of a call whose client waits no longer, as soon as the id of the script is known. */
class UnansweredCall {
  readonly #services: GatewayServices;
  #scriptId: string | undefined;
  #hasEnded = false;

  constructor(services: GatewayServices, scriptId: string | undefined) {
    this.#services = services;
    this.#scriptId = scriptId;
  }

  follow({ payload }: StreamEvent): void {
    if (payload.type !== 'item_done' || payload.final_item.type !== 'script_execution') return;
    this.#scriptId = payload.final_item.script_id;
    if (this.#hasEnded) this.end();
  }

  end(): void {
    this.#hasEnded = true;
    if (this.#scriptId !== undefined) this.#services.past.addUnanswered(this.#scriptId);
  }
}

/** Adds to the result of a call a report on each script whose own call got no answer, because its client gave up. */
export async function withUnanswered(
  services: GatewayServices,
  { mcpReq }: ServerContext,
  result: CallToolResult,
): Promise<CallToolResult> {
  // Nobody reads the result of a call that has ended.
  const ids = mcpReq.signal.aborted ? [] : services.past.takeUnanswered();
  if (ids.length === 0) return result;
  const reports = await Promise.all(ids.map((scriptId) => reportUnanswered(services, scriptId)));
  const text = reports.join('\n');
  const { content, structuredContent } = result;
  return {
    ...result,
    content: [...content, { type: 'text', text }],
    ...(structuredContent === undefined ? {} : { structuredContent: { ...structuredContent, earlier: reports } }),
  };
}

async function reportUnanswered({ harness, principal, past }: GatewayServices, scriptId: string): Promise<string> {
  const outcome = await harness.waitScript(scriptId, { principal, forMs: END_WAIT_MS });
  if (outcome.status !== 'running') past.add(outcome);
  const calls = outcome.operations.map(({ tool, status }) => `${tool} ${status}`).join(', ');
  const state = outcome.status === 'running' ? 'still runs' : `has the status ${outcome.status}`;
  const why = outcome.error === undefined ? '' : ` (${outcome.error.code})`;
  return `An earlier call got no answer, because its client stopped waiting: its script ${scriptId} ${state}${why}. Its calls: ${calls === '' ? 'none' : calls}. Do not repeat completed calls; call wait_script with { "scriptId": "${scriptId}" } for its result.`;
}
