import {
  JsonTextMember,
  ResponseReducer,
  SCRIPT_TOOL,
  subAgentEvent,
  type OutputItem,
  type StreamEvent,
} from '@toolscript/core/stream';
import { operationCall, ScriptActivity } from './script-activity.ts';
import type {
  AgentStart,
  AgentView,
  CallView,
  Entry,
  FunctionCallItem,
  FunctionCallOutputItem,
  MessageItem,
  RunView,
  ScriptItem,
  ScriptOutputItem,
  ScriptView,
} from './types.ts';

interface CachedScript {
  readonly inputs: readonly unknown[];
  readonly view: ScriptView;
}

/** Folds the events of one run into the state that the page shows. The same code serves a live run and a replay. */
export class RunFold {
  readonly #reducer = new ResponseReducer();
  readonly #activities = new Map<string, ScriptActivity>();
  readonly #scripts = new Map<string, CachedScript>();
  readonly #typedScripts = new Map<string, TypedScript>();
  /** Scripts that the model has finished writing, by the ids of their items. */
  readonly #writtenScripts = new Set<string>();
  /** The time at which each script began to run, by the id of its item. */
  readonly #startedAt = new Map<string, number>();
  readonly #endedAt = new Map<string, number>();
  /** The sub-agents by the ids of their runs, in the order in which they started. */
  readonly #agents = new Map<string, AgentFold>();
  #input: readonly MessageItem[] = [];
  #firstAt: number | undefined;
  #retry: RunView['retry'];
  #cost: number | undefined;

  apply(event: StreamEvent): void {
    this.#reducer.apply(event);
    const { payload, timestamp } = event;
    this.#firstAt ??= timestamp;
    this.#retry =
      payload.type === 'request_retry' ? { message: payload.message, at: timestamp + payload.delay_ms } : undefined;
    switch (payload.type) {
      case 'response_start': {
        const { input } = payload as { input?: unknown };
        if (Array.isArray(input) && this.#input.length === 0) this.#input = (input as OutputItem[]).filter(isMessage);
        return;
      }
      case 'agent_start':
        if (!this.#agents.has(payload.agent_run_id))
          this.#agents.set(payload.agent_run_id, new AgentFold(payload, timestamp));
        return;
      case 'agent_event':
        return this.#agents.get(payload.agent_run_id)?.apply(event);
      case 'request_done':
        if (payload.cost !== undefined) this.#cost = (this.#cost ?? 0) + payload.cost;
        return;
      case 'item_done':
        this.#writtenScripts.add(payload.item_id);
        return this.#noteTimes(payload.final_item, timestamp);
      case 'item_error':
      case 'item_cancelled':
        return void this.#writtenScripts.add(payload.item_id);
      case 'item_update':
        if (payload.changes['status'] !== undefined) this.#writtenScripts.add(payload.item_id);
        if (payload.changes['status'] === 'executing' && !this.#startedAt.has(payload.item_id))
          this.#startedAt.set(payload.item_id, timestamp);
        return;
      case 'tool_call_start':
      case 'tool_call_done':
      case 'approval_resolved':
        return this.#activity(payload.script_id ?? payload.call_id).apply(payload, timestamp);
      case 'approval_requested':
        return this.#activity(payload.approval.script_id ?? payload.approval.call_id).apply(payload, timestamp);
      case 'script_log':
      case 'script_progress':
        return this.#activity(payload.script_id).apply(payload, timestamp);
      default:
    }
  }

  view(): RunView {
    const response = this.#reducer.response();
    const { usage, error } = response;
    return {
      status: response.status,
      entries: [...this.#input.map(messageEntry), ...this.#entries(response.output_items)],
      ...(usage === undefined ? {} : { usage }),
      ...(this.#cost === undefined ? {} : { cost: this.#cost }),
      ...(error === undefined ? {} : { error }),
      ...(this.#retry === undefined ? {} : { retry: this.#retry }),
      ...(this.#firstAt === undefined ? {} : { startedAt: this.#firstAt }),
    };
  }

  /** The sub-agents that a script, or a structured call, has launched. */
  #launchedAgents(launcher: string): readonly AgentFold[] {
    return [...this.#agents.values()].filter((agent) => agent.launcher === launcher);
  }

  #noteTimes(item: OutputItem, at: number): void {
    if (item.type === 'script_execution' && item.status !== 'pending') this.#startedAt.set(item.id, at);
    if (item.type === 'script_execution_output') this.#endedAt.set(item.call_id, at);
  }

  #activity(id: string): ScriptActivity {
    const found = this.#activities.get(id) ?? new ScriptActivity();
    this.#activities.set(id, found);
    return found;
  }

  #entries(items: readonly OutputItem[]): Entry[] {
    const outputs = new Map<string, ScriptOutputItem>();
    const results = new Map<string, FunctionCallOutputItem>();
    const scripts = new Set<string>();
    for (const item of items) {
      if (item.type === 'script_execution_output') outputs.set(item.call_id, item);
      if (item.type === 'function_call_output') results.set(item.call_id, item);
      if (item.type === 'script_execution') scripts.add(item.call_id);
    }
    return items.flatMap((item): Entry[] => {
      switch (item.type) {
        case 'script_execution':
          return [{ type: 'script', key: item.call_id, script: this.#script(item, outputs.get(item.call_id)) }];
        case 'function_call':
          return scripts.has(item.call_id) ? [] : [this.#call(item, results.get(item.call_id))];
        case 'script_execution_output':
        case 'function_call_output':
          return [];
        case 'message':
          return item.content === '' ? [] : [messageEntry(item)];
        default:
          return [{ type: item.type, key: item.id, item } as Entry];
      }
    });
  }

  #call(item: FunctionCallItem, output: FunctionCallOutputItem | undefined): Entry {
    if (item.name === SCRIPT_TOOL && output === undefined)
      return { type: 'script', key: item.call_id, script: this.#typedScript(item) };
    const call = this.#activities.get(item.call_id)?.call(item.call_id);
    return {
      type: 'call',
      key: item.call_id,
      item,
      ...(output === undefined ? {} : { output }),
      ...(call === undefined ? {} : { call }),
      agents: this.#launchedAgents(item.call_id).map((agent) => agent.view()),
    };
  }

  #typedScript(item: FunctionCallItem): ScriptView {
    const typed = this.#typedScripts.get(item.call_id) ?? new TypedScript(item.call_id);
    this.#typedScripts.set(item.call_id, typed);
    return typed.read(item.arguments);
  }

  #script(item: ScriptItem, output: ScriptOutputItem | undefined): ScriptView {
    const activity = item.script_id === undefined ? undefined : this.#activity(item.script_id);
    const startedAt = this.#startedAt.get(item.id);
    const isTyped = !this.#writtenScripts.has(item.id) && output === undefined;
    const agents = item.script_id === undefined ? [] : this.#launchedAgents(item.script_id);
    const versions = agents.map(({ version }) => version).join();
    const inputs = [item, output, activity?.version, startedAt, isTyped, versions];
    const cached = this.#scripts.get(item.id);
    if (cached !== undefined && inputs.every((value, index) => value === cached.inputs[index])) return cached.view;
    const endedAt = this.#endedAt.get(item.call_id);
    const view: ScriptView = {
      callId: item.call_id,
      source: item.source_code ?? '',
      language: item.language ?? 'ts',
      status: isTyped ? 'typing' : endedStatus(item.status, output),
      calls: withOperations(activity?.calls ?? [], output, startedAt ?? this.#firstAt ?? 0),
      logs: activity?.logs ?? [],
      plan: item.plan ?? [],
      agents: agents.map((agent) => agent.view()),
      ...(item.script_id === undefined ? {} : { scriptId: item.script_id }),
      ...(item.source_sha256 === undefined ? {} : { sha256: item.source_sha256 }),
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(endedAt === undefined ? {} : { endedAt }),
      ...(output === undefined ? {} : { output }),
    };
    this.#scripts.set(item.id, { inputs, view });
    return view;
  }
}

/** The end of a script that the user has caused is no error. */
function endedStatus(status: ScriptItem['status'], output: ScriptOutputItem | undefined): ScriptView['status'] {
  if (output?.error?.code === 'ScriptCancelledError') return 'stopped';
  return output?.error?.code === 'ApprovalDeniedError' ? 'denied' : status;
}

/** One sub-agent. Its events are part of the events of the run that launched it. */
class AgentFold {
  /** The id of the script, or of the structured call, that launched the sub-agent. */
  readonly launcher: string;
  /** The number of applied events. */
  version = 0;
  readonly #start: AgentStart;
  readonly #startedAt: number;
  readonly #fold = new RunFold();
  #endedAt: number | undefined;

  constructor(start: AgentStart, startedAt: number) {
    this.launcher = start.script_id ?? start.call_id;
    this.#start = start;
    this.#startedAt = startedAt;
  }

  apply(event: StreamEvent): void {
    const own = subAgentEvent(event);
    if (own === undefined) return;
    this.version += 1;
    this.#fold.apply(own);
    this.#endedAt = own.payload.type === 'response_done' ? own.timestamp : undefined;
  }

  view(): AgentView {
    const { agent_run_id: runId, agent, task, call_id: callId } = this.#start;
    const times = { startedAt: this.#startedAt, ...(this.#endedAt === undefined ? {} : { endedAt: this.#endedAt }) };
    return { runId, agent, task, callId, ...times, run: this.#fold.view() };
  }
}

function isMessage(item: OutputItem): item is MessageItem {
  return item.type === 'message';
}

function messageEntry(item: MessageItem): Entry {
  return { type: 'message', key: item.id, item };
}

/**
 * A script that the model is still writing as the argument of a call: as JSON with the member `code`, or as plain text.
 */
class TypedScript {
  readonly #callId: string;
  #view: ScriptView | undefined;
  #text = '';
  #code: JsonTextMember | undefined;

  constructor(callId: string) {
    this.#callId = callId;
  }

  /** `text`: the argument so far. */
  read(text: string): ScriptView {
    if (this.#view !== undefined && text === this.#text) return this.#view;
    const continues = this.#text !== '' && text.startsWith(this.#text);
    if (!continues) this.#code = text.trimStart().startsWith('{') ? new JsonTextMember('code', 'any') : undefined;
    const [before, more] = continues ? [this.#view?.source ?? '', text.slice(this.#text.length)] : ['', text];
    const source = this.#code === undefined ? text : before + this.#code.push(more);
    this.#text = text;
    this.#view = {
      callId: this.#callId,
      source,
      language: 'ts',
      status: 'typing',
      calls: [],
      logs: [],
      plan: [],
      agents: [],
    };
    return this.#view;
  }
}

/** Adds the operations of the output to the calls. Some calls have no events, such as those with invalid arguments. */
function withOperations(
  calls: readonly CallView[],
  output: ScriptOutputItem | undefined,
  startedAt: number,
): readonly CallView[] {
  if (output === undefined) return calls;
  const operations = new Map(output.operations.map((operation) => [operation.call_id, operation]));
  const known = new Set(calls.map(({ callId }) => callId));
  const others = output.operations
    .filter(({ call_id: callId }) => !known.has(callId))
    .map((operation) => operationCall(operation, startedAt + operation.started_at_ms));
  const settled = calls.map((call) => {
    const operation = operations.get(call.callId);
    return operation === undefined || call.operation !== undefined
      ? call
      : { ...call, status: operation.status, operation };
  });
  return [...settled, ...others].toSorted((left, right) => left.requestedAt - right.requestedAt);
}
