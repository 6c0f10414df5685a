import type { Harness, ScriptItemMembers } from '../harness/index.js';
import { operationToOutputItem } from '../history/index.js';
import { scriptFailure } from '../protocol/index.js';
import type {
  ApprovalPolicy,
  FunctionCallItem,
  HarnessMode,
  JsonObject,
  Limits,
  LimitsInput,
  Outcome,
  ScriptFailure,
} from '../protocol/index.js';
import { newId } from '../text/new-id.js';
import { sha256 } from '../text/sha256.js';
import type { RunLog } from './run-log.js';

/** What the scripts and calls of a run are given. */
export interface WorkSettings {
  readonly harness: Harness;
  readonly log: RunLog;
  readonly mode: HarnessMode;
  readonly limits: Partial<LimitsInput> | undefined;
  /** Tokens of a call's result that the model reads. */
  readonly modelOutputTokens: Limits['modelOutputTokens'];
  readonly approvals: ApprovalPolicy | undefined;
  readonly app: unknown;
  readonly principal: string | undefined;
  /** Members of the scripts' `context`. */
  readonly context: JsonObject;
  readonly continueOnError: boolean;
  readonly signal: AbortSignal;
  /** Scripts come as calls of the tool `run_script`. */
  readonly scriptsAreCalls: boolean;
  /** The tools' own names, by the names under which they are offered as functions. */
  readonly functions: ReadonlyMap<string, string>;
  /** Those of the offered names whose tools take no arguments. */
  readonly withoutArguments: ReadonlySet<string>;
  /** Told of every result of a call: it may carry images. */
  readonly onResult: (result: unknown) => void;
}

export interface ScriptBlock {
  source: string;
  language: 'ts' | 'js';
  item: ScriptItemMembers;
  /** Why it is none that could run. */
  failure?: ScriptFailure;
}

/** A script that waits for people. */
export interface Waiting {
  script_id: string;
  suspension: string;
}

export const SCRIPT_TOOL = 'run_script';

/**
 * Does what one answer asks for, one after the other, in order of appearance. Each script and each call has a result,
 * until a script waits for people: what comes behind it waits with it.
 */
export class AnswerWork {
  readonly #settings: WorkSettings;
  #started = 0;
  #failed: boolean;
  #waiting: Waiting | undefined;

  /** `failed`: an earlier script of the answer has, in an earlier life. */
  constructor(settings: WorkSettings, failed = false) {
    this.#settings = settings;
    this.#failed = failed;
  }

  /** How many scripts and calls have results, or wait. */
  get started(): number {
    return this.#started;
  }

  get waiting(): Waiting | undefined {
    return this.#waiting;
  }

  async call(call: FunctionCallItem): Promise<void> {
    const { scriptsAreCalls, mode } = this.#settings;
    // What has no result yet is found in the conversation when the answer goes on.
    if (this.#waiting !== undefined) return;
    if (!scriptsAreCalls || call.name !== SCRIPT_TOOL) return this.#function(call);
    const source = sourceOf(call);
    if (source === undefined)
      return this.#refuse(call, '`run_script` needs { "code": string }: the TypeScript to run.');
    if (mode === 'disabled') return this.#refuse(call, 'ScriptDisabledError: Scripts are switched off here.');
    const { api, answer_id } = call;
    const carrier = call.native_type === 'custom_tool_call' ? 'custom' : 'tool';
    const item = { call_id: call.call_id, format: 'tool', carrier, api, answer_id } as const;
    return this.script({ source, language: 'ts', item });
  }

  async script({ source, language, item, failure }: ScriptBlock): Promise<void> {
    if (this.#waiting !== undefined && failure === undefined) return this.#postpone(source, language, item);
    this.#started += 1;
    const { harness, mode, approvals, app, principal, limits, context, signal, log } = this.#settings;
    const refusal = failure ?? this.#skipped();
    const outcome = await harness.runScript(source, {
      ...present({ approvals, principal, limits, refusal }),
      app,
      mode,
      language,
      item,
      context,
      signal,
      threadId: log.identity.threadId,
      turnId: log.identity.turnId,
      onEvent: ({ payload }) => log.forward(payload),
    });
    this.#note(outcome);
  }

  #note(outcome: Outcome): void {
    if (outcome.status === 'failed') this.#failed = true;
    for (const { result } of outcome.operations) this.#settings.onResult(result);
    if (outcome.status === 'suspended') this.#waiting = { script_id: outcome.scriptId, suspension: outcome.suspension };
  }

  /** What the model wrote counts on what failed before it. */
  #skipped(): ScriptFailure | undefined {
    if (!this.#failed || this.#settings.continueOnError) return undefined;
    const message = 'An earlier script of this answer failed, so nothing of this one ran.';
    return scriptFailure('ScriptSkippedError', message);
  }

  /** Its item alone: it runs when the script before it has ended. */
  #postpone(source: string, language: 'ts' | 'js', members: ScriptItemMembers): void {
    this.#settings.log.put({
      type: 'script_execution',
      id: newId('item'),
      call_id: newId('call'),
      language,
      format: 'xml',
      source_code: source,
      source_sha256: sha256(source),
      ...members,
      status: 'pending',
    });
  }

  async #function(call: FunctionCallItem): Promise<void> {
    const { harness, mode, approvals, app, principal, limits, signal, log, functions } = this.#settings;
    if (this.#skipped() !== undefined)
      return this.#refuse(call, 'An earlier script of this answer failed, so this call was not made.');
    if (mode === 'dry-run') return this.#refuse(call, 'This is a dry run: the call was not made.');
    const input = this.#inputOf(call);
    if (input === undefined)
      return this.#refuse(
        call,
        'ToolValidationError: the arguments are not a whole JSON object, so nothing was run. Send the call again with all of its arguments, or with {} where it needs none.',
      );
    this.#started += 1;
    const operation = await harness.callTool(functions.get(call.name) ?? call.name, input, {
      ...present({ approvals, principal, limits }),
      app,
      signal,
      callId: call.call_id,
      onEvent: ({ payload }) => log.forward(payload),
    });
    this.#settings.onResult(operation.result);
    const identity = { id: newId('item'), callId: call.call_id };
    log.put(operationToOutputItem(operation, identity, { tokenBudget: this.#settings.modelOutputTokens }));
  }

  /** No arguments at all are an input only of tools that take none: elsewhere they were lost. */
  #inputOf(call: FunctionCallItem): Record<string, unknown> | undefined {
    // defence: call-without-arguments, without it: if (call.arguments.trim() === '') return {};
    if (call.arguments.trim() === '' && this.#settings.withoutArguments.has(call.name)) return {};
    return argumentsOf(call);
  }

  #refuse({ call_id }: FunctionCallItem, output: string): void {
    this.#started += 1;
    this.#settings.log.put({ type: 'function_call_output', id: newId('item'), call_id, output, success: false });
  }
}

/** Undefined where the call has none. */
function sourceOf(call: FunctionCallItem): string | undefined {
  if (call.native_type === 'custom_tool_call') return call.arguments;
  const code = argumentsOf(call)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Undefined for text that is no JSON object. */
function argumentsOf(call: FunctionCallItem): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(call.arguments);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The members that are there. */
export function present<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>;
  };
}
