import { trace, type Context, type Span, type Tracer } from '@opentelemetry/api';
import type { EventPayload, OutputItem, ScriptExecutionItem, StreamEvent } from '../protocol/index.js';
import { markFailed, scriptAttributes, toolAttributes } from './attributes.js';

type Payload<Type extends EventPayload['type']> = Extract<EventPayload, { type: Type }>;
type ScriptOutput = Extract<OutputItem, { type: 'script_execution_output' }>;

interface OpenSpan {
  readonly span: Span;
  /** The context in which the children of the span start. */
  readonly context: Context;
}

/**
 * The spans of a run's scripts and calls, from its events. A script is the child of its answer, and a call is the
 * child of its script or answer. If the parent belongs to an earlier part of the run, the run itself is the parent.
 */
export class WorkSpans {
  readonly #tracer: Tracer;
  readonly #run: Context;
  /** The contexts of answers, by `answer_id`. */
  readonly #answers = new Map<string, Context>();
  /** The `answer_id` of each `call_id`. */
  readonly #answerIds = new Map<string, string>();
  /** The items of scripts, by item id. */
  readonly #scripts = new Map<string, ScriptExecutionItem>();
  /** The `call_id` of each script id. */
  readonly #callIds = new Map<string, string>();
  /** The spans of scripts that have not ended, by `call_id`. */
  readonly #openScripts = new Map<string, OpenSpan>();
  readonly #openCalls = new Map<string, Span>();

  /** `run`: the context of the run's span. */
  constructor(tracer: Tracer, run: Context) {
    this.#tracer = tracer;
    this.#run = run;
  }

  answerStarted(answerId: string, span: Span): void {
    this.#answers.set(answerId, trace.setSpan(this.#run, span));
  }

  /** Records the items of an event from an earlier part of the run. These items get no spans. */
  recall({ payload }: StreamEvent): void {
    if (payload.type === 'item_done') this.#note(payload.final_item);
  }

  take({ payload, timestamp }: StreamEvent): void {
    switch (payload.type) {
      case 'item_done':
        this.#note(payload.final_item);
        return this.#itemDone(payload.final_item, timestamp);
      case 'item_update':
        return this.#itemUpdated(payload, timestamp);
      case 'tool_call_start':
        return this.#callStarted(payload, timestamp);
      case 'tool_call_done':
        return this.#callDone(payload, timestamp);
      case 'approval_requested': {
        const { approval_id: id, tool, script_id: scriptId } = payload.approval;
        return this.#approval(scriptId, payload.type, { id, tool }, timestamp);
      }
      case 'approval_resolved': {
        const { approval_id: id, decision, by, script_id: scriptId } = payload;
        return this.#approval(scriptId, payload.type, { id, decision, by }, timestamp);
      }
    }
  }

  /** Ends all open spans. */
  end(): void {
    for (const span of this.#openCalls.values()) span.end();
    for (const { span } of this.#openScripts.values()) span.end();
    this.#openCalls.clear();
    this.#openScripts.clear();
  }

  #note(item: OutputItem): void {
    if (item.type !== 'script_execution' && item.type !== 'function_call') return;
    if (typeof item.answer_id === 'string') this.#answerIds.set(item.call_id, item.answer_id);
    if (item.type === 'function_call') return;
    this.#scripts.set(item.id, item);
    if (item.script_id !== undefined) this.#callIds.set(item.script_id, item.call_id);
  }

  #itemDone(item: OutputItem, at: number): void {
    if (item.type === 'script_execution' && item.status !== 'pending') this.#startScript(item, at);
    if (item.type === 'script_execution_output') this.#scriptEnded(item, at);
  }

  #itemUpdated({ item_id: id, changes }: Payload<'item_update'>, at: number): void {
    const known = this.#scripts.get(id);
    if (known === undefined) return;
    const script = { ...known, ...changes } as ScriptExecutionItem;
    this.#note(script);
    if (changes.status === 'executing') this.#startScript(script, at);
    if (changes.status === 'suspended') this.#endScript(script.call_id, 'suspended', at);
  }

  #startScript({ call_id: callId, script_id: id, language }: ScriptExecutionItem, at: number): void {
    if (this.#openScripts.has(callId)) return;
    const options = { startTime: at, attributes: scriptAttributes({ id, language, callId }) };
    const span = this.#tracer.startSpan('execute_script', options, this.#answerContext(callId));
    this.#openScripts.set(callId, { span, context: trace.setSpan(this.#run, span) });
  }

  #scriptEnded({ call_id: callId, script_id: id, status, error, metadata }: ScriptOutput, at: number): void {
    const open = this.#openScripts.get(callId);
    if (open === undefined) return;
    if (error !== undefined) markFailed(open.span, error.code);
    open.span.setAttributes({
      ...(id === undefined ? {} : { 'toolscript.script.id': id }),
      'toolscript.script.tool_calls': metadata.tool_calls_made,
      'toolscript.script.compute_ms': metadata.compute_ms,
      'toolscript.script.approval_wait_ms': metadata.approval_wait_ms,
    });
    this.#endScript(callId, status, at);
  }

  #endScript(callId: string, status: string, at: number): void {
    const open = this.#openScripts.get(callId);
    this.#openScripts.delete(callId);
    open?.span.setAttribute('toolscript.script.status', status).end(at);
  }

  #callStarted(call: Payload<'tool_call_start'>, at: number): void {
    const context = this.#scriptContext(call.script_id) ?? this.#answerContext(call.call_id);
    const options = { startTime: at, attributes: toolAttributes(call) };
    this.#openCalls.set(call.call_id, this.#tracer.startSpan(`execute_tool ${call.tool}`, options, context));
  }

  /** A call that never started, such as a denied one, has no span. */
  #callDone({ call_id: id, operation: { status, error } }: Payload<'tool_call_done'>, at: number): void {
    const span = this.#openCalls.get(id);
    this.#openCalls.delete(id);
    if (span === undefined) return;
    if (error !== undefined) markFailed(span, error.code);
    span.setAttribute('toolscript.tool.status', status).end(at);
  }

  #approval(scriptId: string | undefined, name: string, about: Record<string, string>, at: number): void {
    const attributes = Object.entries(about).map(([member, value]) => [`toolscript.approval.${member}`, value]);
    const context = this.#scriptContext(scriptId) ?? this.#run;
    trace.getSpan(context)?.addEvent(name, Object.fromEntries(attributes) as Record<string, string>, at);
  }

  #scriptContext(scriptId: string | undefined): Context | undefined {
    const callId = this.#callIds.get(scriptId ?? '');
    return callId === undefined ? undefined : this.#openScripts.get(callId)?.context;
  }

  #answerContext(callId: string): Context {
    return this.#answers.get(this.#answerIds.get(callId) ?? '') ?? this.#run;
  }
}
