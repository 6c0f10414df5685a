import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus } from '@agentclientprotocol/sdk';
import type {
  OutputItem,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
  StreamEvent,
} from '@toolscript/core/protocol';
import type { EventView } from '../view/answer-view.js';
import { callSummary, planSteps, type Operation } from '../view/script-report.js';
import { shortValue } from '../view/values.js';
import { patchDiffs } from './file-diffs.js';
import { toolKind } from './tool-kind.js';

type Payload = StreamEvent['payload'];

/** The maximum size of a file whose text before a call is shown, in bytes. */
const MAX_BEFORE_BYTES = 256 * 1024;

/** Shows the runs of a conversation in an editor: each event becomes the updates of the session. */
export class SessionView implements EventView {
  readonly #send: (update: SessionUpdate) => void;
  readonly #folder: string;
  /** The types of the open items whose text streams. */
  readonly #streaming = new Map<string, 'message' | 'reasoning'>();
  /** The items with a delta, whose text was sent. */
  readonly #begunItems = new Set<string>();
  /** The calls that the editor knows. */
  readonly #shownCalls = new Set<string>();
  /** The texts of files before the calls that replace them. */
  readonly #textsBefore = new Map<string, string | undefined>();

  constructor(folder: string, send: (update: SessionUpdate) => void) {
    this.#folder = folder;
    this.#send = send;
  }

  take({ payload }: StreamEvent): void {
    switch (payload.type) {
      case 'item_start':
        if (payload.item_type === 'message' || payload.item_type === 'reasoning')
          this.#streaming.set(payload.item_id, payload.item_type);
        return;
      case 'item_delta':
        return this.#takeDelta(payload);
      case 'item_done':
        return this.#takeItem(payload.item_id, payload.final_item);
      case 'approval_requested':
        return this.#sendCall({
          toolCallId: payload.approval.call_id,
          ...callFacts(payload.approval),
          status: 'pending',
        });
      case 'tool_call_start':
        return this.#startCall(payload);
      case 'tool_call_done':
        return this.#endCall(payload.operation);
      default:
        return;
    }
  }

  /** Shows an earlier conversation, oldest item first. */
  replay(items: readonly OutputItem[]): void {
    for (const item of items) {
      if (item.type === 'message' && item.role === 'user')
        this.#send({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: item.content } });
      else this.#takeItem(item.type === 'message' || item.type === 'reasoning' ? item.id : '', item);
    }
  }

  end(): void {
    this.#streaming.clear();
    this.#begunItems.clear();
  }

  #takeDelta({ item_id: id, delta }: Extract<Payload, { type: 'item_delta' }>): void {
    const type = this.#streaming.get(id);
    if (type === undefined || delta === '') return;
    this.#begunItems.add(id);
    this.#sendText(type, delta);
  }

  #sendText(type: 'message' | 'reasoning', text: string): void {
    if (text === '') return;
    const sessionUpdate = type === 'message' ? 'agent_message_chunk' : 'agent_thought_chunk';
    this.#send({ sessionUpdate, content: { type: 'text', text } });
  }

  #takeItem(itemId: string, item: OutputItem): void {
    this.#streaming.delete(itemId);
    switch (item.type) {
      case 'message':
      case 'reasoning':
        if (!this.#begunItems.delete(itemId) && (item.type === 'reasoning' || item.role === 'assistant'))
          this.#sendText(item.type, item.content);
        return;
      case 'script_execution':
        return this.#showScript(item);
      case 'script_execution_output':
        return this.#showOutput(item);
      default:
        return;
    }
  }

  #showScript({ call_id: toolCallId, source_code: code, source_sha256: sha256 }: ScriptExecutionItem): void {
    this.#send({
      sessionUpdate: 'tool_call',
      toolCallId,
      title: `script ${sha256.slice(0, 8)}`,
      kind: 'execute',
      status: 'in_progress',
      content: [textContent(`\`\`\`ts\n${code}\n\`\`\``)],
      rawInput: { code },
    });
  }

  #showOutput(output: ScriptExecutionOutputItem): void {
    for (const operation of output.operations) if (!this.#shownCalls.has(operation.call_id)) this.#endCall(operation);
    const { status, error, result } = output;
    const text = error === undefined ? shortValue(result) : `${error.code}: ${error.message}`;
    this.#send({
      sessionUpdate: 'tool_call_update',
      toolCallId: output.call_id,
      status: status === 'completed' ? 'completed' : status === 'suspended' ? 'pending' : 'failed',
      ...(text === '' ? {} : { content: [textContent(text)] }),
      rawOutput: result,
    });
  }

  #startCall({ call_id: toolCallId, tool, input, effect }: Extract<Payload, { type: 'tool_call_start' }>): void {
    if (tool === 'writeFile') this.#textsBefore.set(toolCallId, this.#textOf(input));
    this.#sendCall({ toolCallId, ...callFacts({ tool, input, effect }), status: 'in_progress' });
  }

  #endCall(operation: Operation): void {
    const { call_id: toolCallId, tool, input, status, error, result: rawOutput } = operation;
    const content = error === undefined ? this.#diffs(operation) : [textContent(error.message)];
    const shown = content.length === 0 ? {} : { content };
    this.#sendCall({ toolCallId, ...callFacts(operation), status: CALL_STATES[status], ...shown, rawOutput });
    if (tool === 'updatePlan' && status === 'completed') this.#showPlan(input);
  }

  /** Sends a call, as a new one if the editor does not know it. */
  #sendCall(call: ToolCall): void {
    const isKnown = this.#shownCalls.has(call.toolCallId);
    this.#shownCalls.add(call.toolCallId);
    if (isKnown) this.#send({ sessionUpdate: 'tool_call_update', ...call });
    else this.#send({ sessionUpdate: 'tool_call', ...call });
  }

  #showPlan(input: unknown): void {
    const entries = planSteps(input).map(({ step, status }) => ({
      content: step,
      status,
      priority: 'medium' as const,
    }));
    if (entries.length > 0) this.#send({ sessionUpdate: 'plan', entries });
  }

  /** The changes of a completed call that writes files. */
  #diffs({ call_id: callId, tool, input, status }: Operation): ToolCallContent[] {
    if (status !== 'completed') return [];
    const { patch, path, content } = (input ?? {}) as Readonly<Record<string, unknown>>;
    if (tool === 'applyPatch' && typeof patch === 'string')
      return patchDiffs(patch, this.#folder).map((diff) => ({ type: 'diff', ...diff }));
    if (tool !== 'writeFile' || typeof path !== 'string' || typeof content !== 'string') return [];
    const isSeen = this.#textsBefore.has(callId);
    const oldText = this.#textsBefore.get(callId) ?? null;
    this.#textsBefore.delete(callId);
    return isSeen ? [{ type: 'diff', path: resolve(this.#folder, path), oldText, newText: content }] : [];
  }

  /** The text of the file that a call names; undefined if there is none, or if it is too large to be shown. */
  #textOf(input: unknown): string | undefined {
    const { path } = (input ?? {}) as { path?: unknown };
    if (typeof path !== 'string') return undefined;
    const file = resolve(this.#folder, path);
    const found = statSync(file, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size <= MAX_BEFORE_BYTES ? readFileSync(file, 'utf8') : undefined;
  }
}

const CALL_STATES: Readonly<Record<Operation['status'], ToolCallStatus>> = {
  completed: 'completed',
  failed: 'failed',
  denied: 'failed',
  aborted: 'failed',
  detached: 'in_progress',
  unknown: 'failed',
  not_started: 'failed',
  awaiting_approval: 'pending',
};

/** The members of a call that an editor shows from its start to its end. */
export function callFacts({ tool, input, effect }: Pick<Operation, 'tool' | 'input' | 'effect'>) {
  return { title: `${tool} ${callSummary(input)}`.trimEnd(), kind: toolKind(tool, effect), rawInput: input };
}

function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}
