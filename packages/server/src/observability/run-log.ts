import { readTraceContext } from '@toolscript/core/internal';
import type { EventPayload, Run, StreamEvent } from '@toolscript/core/protocol';
import type { FastifyBaseLogger } from 'fastify';
import type { OpenedAgent, RunObserver, WorkEnd } from '@toolscript/service';

/**
 * Logs the work on a run. `info`: the start and the end of the work, and approvals; `warn`: failures; `debug`: each
 * script and call. The lines contain no text of users, models, scripts or tools, except the message of an error that
 * ends the run.
 */
export class LoggedRun implements RunObserver {
  #log: FastifyBaseLogger;
  readonly #run: Run;
  readonly #startedAt = performance.now();
  #isTraced = false;

  constructor(log: FastifyBaseLogger, run: Run) {
    this.#run = run;
    this.#log = log.child({ runId: run.runId, threadId: run.threadId });
  }

  agentOpened({ agent, provider }: OpenedAgent): void {
    const { reason, epoch } = this.#run;
    this.#log.info({ reason, epoch, agent: agent.slug, model: provider.model }, 'run started');
  }

  event(event: StreamEvent): void {
    if (!this.#isTraced && event.trace !== undefined) this.#noteTrace(event);
    const { payload } = event;
    switch (payload.type) {
      case 'item_done':
        return this.#itemDone(payload);
      case 'tool_call_done':
        return this.#callDone(payload);
      case 'approval_requested': {
        const { approval_id: approvalId, script_id: scriptId, tool } = payload.approval;
        return this.#log.info({ approvalId, scriptId, tool }, 'approval requested');
      }
      case 'approval_resolved': {
        const { approval_id: approvalId, script_id: scriptId, decision, by } = payload;
        return this.#log.info({ approvalId, scriptId, decision, by }, 'approval resolved');
      }
      case 'response_error':
        return this.#log.warn({ code: payload.code, message: payload.message }, 'run failed');
    }
  }

  eventsWritten(): void {}

  workEnded(how: WorkEnd): void {
    const ms = Math.round(performance.now() - this.#startedAt);
    if (how === 'lost' || how === 'write-failed') return this.#log.warn({ cause: how, ms }, 'run abandoned');
    if (how === 'draining') return this.#log.info({ ms }, 'run queued again');
    if (how === 'parked') return this.#log.warn({ ms }, 'run parked; resume or cancel it');
    this.#log.info({ state: how, ms }, 'run ended or suspended');
  }

  #noteTrace({ trace }: StreamEvent): void {
    this.#isTraced = true;
    const traceId = readTraceContext(trace)?.traceparent.split('-')[1];
    if (traceId !== undefined) this.#log = this.#log.child({ traceId });
  }

  #itemDone({ final_item: item }: Extract<EventPayload, { type: 'item_done' }>): void {
    if (item.type !== 'script_execution_output') return;
    const { script_id: scriptId, status, error, metadata } = item;
    const { duration_ms: duration, tool_calls_made: calls } = metadata;
    this.#log.debug({ scriptId, status, code: error?.code, ms: Math.round(duration), calls }, 'script ended');
  }

  #callDone({ script_id: scriptId, operation }: Extract<EventPayload, { type: 'tool_call_done' }>): void {
    const { call_id: callId, tool, status, error, duration_ms: duration } = operation;
    this.#log.debug({ scriptId, callId, tool, status, code: error?.code, ms: Math.round(duration) }, 'tool called');
  }
}
