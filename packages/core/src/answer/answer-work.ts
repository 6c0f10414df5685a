import { operationToOutputItem } from '../history/index.js';
import {
  codeOfCall,
  scriptFailure,
  type ApprovalRequest,
  type EventPayload,
  type FunctionCallItem,
  type HarnessMode,
  type Limits,
  type Operation,
  type OutputItem,
  type ScriptExecutionItem,
  type ScriptFailure,
  type ToolCallers,
} from '../protocol/index.js';
import { newId, sha256 } from '../text/crypto.js';
import type { ScriptBlock, ScriptEnd, ScriptHost } from './script-host.js';
import { SCRIPT_TOOL } from '../protocol/script-tool.js';

export interface WorkSettings {
  readonly host: ScriptHost;
  readonly emit: (payload: EventPayload) => void;
  readonly mode: HarnessMode;
  /** Maximum tokens of a call's result that the model reads. */
  readonly modelOutputTokens: Limits['modelOutputTokens'];
  readonly continueOnError: boolean;
  /** True: scripts arrive as calls of the tool `run_script`. */
  readonly scriptsAreCalls: boolean;
  /** The tools' own names, by the names under which they are offered as functions. */
  readonly functions: ReadonlyMap<string, string>;
  /** Offered names of tools that take no arguments. */
  readonly withoutArguments: ReadonlySet<string>;
  /** The callers of the tools that the provider's code may call, by the tools' offered names. */
  readonly callers: ReadonlyMap<string, ToolCallers>;
  /**
   * Whether a tool of this name exists. A call of any other name waits for the end of its answer, which shows whether
   * the service ran the call itself. Undefined: no call waits.
   */
  readonly isKnown?: ((name: string) => boolean) | undefined;
  /** Functions that the caller of the run performs: their calls stay without a result. */
  readonly clientFunctions: ReadonlySet<string>;
  /** Receives the result of every call. A result may contain images. */
  readonly onResult: (result: unknown) => void;
}

/** The members of `response_done` that identify the suspended script or call. */
export interface Waiting {
  script_id: string;
  approval_ids: string[];
}

/**
 * Runs the scripts and calls of one answer one at a time, in order of appearance. Each script or call gets a result,
 * except the calls of client functions. After a script or call is suspended, the later scripts and calls wait until the
 * suspended one has ended.
 */
export class AnswerWork {
  readonly #settings: WorkSettings;
  readonly #postponedScripts: ScriptBlock[] = [];
  readonly #unknownCalls: FunctionCallItem[] = [];
  #startedCount = 0;
  #hasFailed: boolean;
  #suspendedEnd: ScriptEnd | undefined;
  #waiting: Waiting | undefined;

  /**
   * `failed`: true if this work continues a suspended answer, and a script of the answer failed before the suspension.
   */
  constructor(settings: WorkSettings, failed = false) {
    this.#settings = settings;
    this.#hasFailed = failed;
  }

  /** The number of scripts and calls that were started or refused. */
  get started(): number {
    return this.#startedCount;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The suspended script; undefined if there is none. */
  get suspended(): ScriptEnd | undefined {
    return this.#suspendedEnd;
  }

  /** The members of the `response_done`, if a script or a call is suspended. */
  get waiting(): Waiting | undefined {
    return this.#waiting;
  }

  /** The scripts after the suspended one. */
  get postponed(): readonly ScriptBlock[] {
    return this.#postponedScripts;
  }

  async call(call: FunctionCallItem): Promise<void> {
    const { scriptsAreCalls, mode, clientFunctions } = this.#settings;
    // After the resume, the run finds the calls without a result in the conversation.
    const isForClient = clientFunctions.has(call.name);
    if (this.#waiting !== undefined && !isForClient) return;
    const wrongCaller = this.#wrongCaller(call);
    // defence: callers-of-tools
    if (wrongCaller !== undefined) return this.#refuse(call, wrongCaller);
    if (isForClient) return;
    if (this.#isUnknown(call)) return void this.#unknownCalls.push(call);
    if (!scriptsAreCalls || call.name !== SCRIPT_TOOL) return this.#function(call);
    const source = scriptOfCall(call);
    if (source === undefined)
      return this.#refuse(call, '`run_script` needs { "code": string }: the TypeScript to run.');
    if (mode === 'disabled')
      return this.#refuse(
        call,
        'ScriptDisabledError: Scripts are disabled here, so this script did not run. Use structured tool calls instead.',
      );
    const { api, answer_id } = call;
    const carrier = call.native_type === 'custom_tool_call' ? 'custom' : 'tool';
    const item = { call_id: call.call_id, format: 'tool', carrier, api, answer_id } as const;
    return this.script({ source, language: 'ts', item });
  }

  #isUnknown(call: FunctionCallItem): boolean {
    const isOfService = call.foreign_type === undefined && codeOfCall(call) === undefined;
    return isOfService && this.#settings.isKnown?.(call.name) === false;
  }

  /** Ends the answer: the calls of unknown tools that the service did not run itself get their results. */
  async endAnswer(isHosted: (call: FunctionCallItem) => boolean): Promise<void> {
    for (const call of this.#unknownCalls) {
      if (isHosted(call)) this.#settings.emit({ type: 'item_update', item_id: call.id, changes: { hosted: true } });
      else if (this.#waiting === undefined) await this.#function(call);
    }
  }

  /**
   * Returns the reason why the caller may not call this tool; undefined if the call is allowed. Toolscript checks the
   * caller, because providers only advise their models.
   */
  #wrongCaller(call: FunctionCallItem): string | undefined {
    const callers = this.#settings.callers.get(call.name) ?? 'direct';
    if (codeOfCall(call) === undefined)
      return callers === 'code'
        ? 'Only code may call this tool, so nothing ran. Call it in code that you run.'
        : undefined;
    return callers === 'direct' ? 'Code may not call this tool, so nothing ran. Call it yourself.' : undefined;
  }

  async script(block: ScriptBlock): Promise<void> {
    if (this.#waiting !== undefined && block.failure === undefined) return this.#postpone(block);
    this.#startedCount += 1;
    this.note(await this.#settings.host.runScript(block, block.failure ?? this.#skippedFailure()));
  }

  /** Records the end of a script of the answer. */
  note(end: ScriptEnd): void {
    const { outcome } = end;
    if (outcome.status === 'failed') this.#hasFailed = true;
    for (const { result } of outcome.operations) this.#settings.onResult(result);
    if (outcome.status !== 'suspended') return;
    this.#suspendedEnd = end;
    this.#waiting = waitingFor(outcome);
  }

  /**
   * Returns the failure of a script that does not run because an earlier one failed: the model wrote the rest of its
   * answer on the assumption that the earlier script succeeds. Undefined if the script may run.
   */
  #skippedFailure(): ScriptFailure | undefined {
    if (!this.#hasFailed || this.#settings.continueOnError) return undefined;
    const message =
      'An earlier script of this answer failed, so this script did not run. Correct that script, then send this one again.';
    return scriptFailure('ScriptSkippedError', message);
  }

  /** Emits only the item; the script runs after the resume. */
  #postpone(block: ScriptBlock): void {
    if (block.item.stage === 'pending') return void this.#postponedScripts.push(block);
    const item = pendingItem(block);
    const { id, call_id } = item;
    this.#postponedScripts.push({ ...block, item: { ...block.item, id, call_id, stage: 'pending' } });
    putItem(this.#settings.emit, item);
  }

  async #function(call: FunctionCallItem): Promise<void> {
    const { host, mode, functions } = this.#settings;
    if (this.#skippedFailure() !== undefined)
      return this.#refuse(
        call,
        'An earlier script of this answer failed, so this call was not made. Correct the script, then make the call again.',
      );
    if (mode === 'dry-run') return this.#refuse(call, 'This is a dry run: the call was not made.');
    const input = this.#callInput(call);
    if (input === undefined)
      return this.#refuse(
        call,
        'ToolValidationError: the arguments are not a complete JSON object, so nothing ran. Send the call again with all of its arguments, or with {} if the tool needs no arguments.',
      );
    this.#startedCount += 1;
    const name = functions.get(call.name) ?? call.name;
    const operation = await host.callTool({ name, input, callId: call.call_id, scriptId: callScriptId(call) });
    if (operation.scriptId === undefined) return this.endCall(operation, call);
    const { scriptId, pendingApprovals = [] } = operation;
    this.#waiting = waitingFor({ scriptId, pendingApprovals });
    this.#settings.emit({ type: 'item_update', item_id: call.id, changes: { suspended: true } });
  }

  /**
   * Emits the output of a structured call that has ended. Code receives the whole result as JSON; a model receives a
   * shortened one.
   */
  endCall(operation: Operation, call: FunctionCallItem): void {
    const { emit, onResult, modelOutputTokens } = this.#settings;
    const identity = { id: newId('item'), callId: operation.callId };
    const reader = codeOfCall(call);
    if (reader !== undefined) return putItem(emit, operationToOutputItem(operation, identity, { reader }));
    onResult(operation.result);
    putItem(emit, operationToOutputItem(operation, identity, { tokenBudget: modelOutputTokens }));
  }

  /**
   * Returns the arguments of a call; undefined if they are not a JSON object. Empty arguments are valid only for a tool
   * without arguments: for any other tool, the provider lost them.
   */
  #callInput(call: FunctionCallItem): Record<string, unknown> | undefined {
    // defence: call-without-arguments
    if (call.arguments.trim() === '' && this.#settings.withoutArguments.has(call.name)) return {};
    return callArguments(call);
  }

  #refuse({ call_id }: FunctionCallItem, output: string): void {
    this.#startedCount += 1;
    const item = { type: 'function_call_output', id: newId('item'), call_id, output, success: false } as const;
    putItem(this.#settings.emit, item);
  }
}

/** Returns the source of a script that arrived as a call; undefined if the call has none. */
export function scriptOfCall(call: FunctionCallItem): string | undefined {
  if (call.name !== SCRIPT_TOOL) return undefined;
  if (call.native_type === 'custom_tool_call') return call.arguments;
  const code = callArguments(call)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Returns the arguments of a call; undefined if their text is not a JSON object. */
function callArguments(call: FunctionCallItem): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(call.arguments);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function waitingFor({
  scriptId,
  pendingApprovals,
}: {
  scriptId: string;
  pendingApprovals: readonly ApprovalRequest[];
}): Waiting {
  return { script_id: scriptId, approval_ids: pendingApprovals.map(({ approvalId }) => approvalId) };
}

function pendingItem({ source, language, item: { stage: _stage, ...members } }: ScriptBlock): ScriptExecutionItem {
  return {
    type: 'script_execution',
    id: newId('item'),
    call_id: newId('call'),
    language,
    format: 'xml',
    source_code: source,
    source_sha256: sha256(source),
    ...members,
    status: 'pending',
  };
}

/**
 * Returns the id of the script that saves a structured call; undefined if the call does not name its answer. The id
 * depends only on the ids of the call, so a process that recovers the run finds the script even if no stored event
 * names the script.
 */
export function callScriptId({ id, call_id, answer_id }: FunctionCallItem): string | undefined {
  if (typeof answer_id !== 'string') return undefined;
  return `scr_${sha256(JSON.stringify([answer_id, id, call_id])).slice(0, 32)}`;
}

/** Emits a finished item. */
export function putItem(emit: (payload: EventPayload) => void, item: OutputItem): void {
  emit({ type: 'item_start', item_id: item.id, item_type: item.type });
  emit({ type: 'item_done', item_id: item.id, final_item: item });
}
