import type {
  FunctionCallItem,
  FunctionCallOutputItem,
  HostedCodeItem,
  HostedCodeOutputItem,
  MessageItem,
  ModelPart,
  OutputItem,
  ReasoningItem,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
} from '../protocol/index.js';
import { codeOfCall } from '../protocol/hosted-code.js';
import { isClaude } from '../protocol/known-models.js';
import { sha256 } from '../text/crypto.js';
import { scriptReport } from './result-text.js';
import { wireMembers, wireName } from './wire-values.js';
import { SCRIPT_TOOL } from '../protocol/script-tool.js';

/*
 * A conversation in the shape that every wire format needs: whole answers, each followed by the results of its calls
 * and scripts.
 *
 *   items ──▶ [user | system] [answer: parts, results in call order, results of scripts in text] [late results] …
 *
 * Histories hold items in the order of events: the result of a script may precede the end of the answer that contains
 * the script. Items with the same `answer_id` form one answer; without an `answer_id`, an answer ends at its first
 * result. User messages that arrive while calls are open follow the results of those calls.
 */

export type ConversationTurn =
  | { readonly type: 'user' | 'system'; readonly text: string; readonly attached: readonly ModelPart[] }
  | AnswerTurn
  /** The result of a call that already has a result, or that is not part of the current answer. */
  | { readonly type: 'late_result'; readonly result: TextResult };

export interface AnswerTurn {
  readonly type: 'answer';
  readonly parts: readonly AnswerPart[];
  /** One result for each call of `parts`, in the same order. */
  readonly results: readonly AnsweredCall[];
  readonly textResults: readonly TextResult[];
}

export type AnswerPart =
  | { readonly type: 'text'; readonly text: string; readonly item: OutputItem }
  | { readonly type: 'reasoning'; readonly item: ReasoningItem }
  | { readonly type: 'hosted'; readonly item: HostedItem }
  | { readonly type: 'call'; readonly call: Call };

/** Code that the provider ran, or its output. Such an item is sent back unchanged, and only in its own format. */
type HostedItem = HostedCodeItem | HostedCodeOutputItem;

export interface Call {
  /** The call id on the wire. */
  readonly id: string;
  /** The name on the wire. */
  readonly name: string;
  /** The arguments as the model wrote them; if the call was not stored, they are rebuilt from the script. */
  readonly arguments: string;
  /** Whether the arguments are raw text. */
  readonly custom: boolean;
  /** The item of the call; undefined if a script item represents the call. */
  readonly item: FunctionCallItem | undefined;
}

export interface AnsweredCall {
  readonly call: Call;
  readonly success: boolean;
  readonly parts: readonly ModelPart[];
}

interface TextResult {
  readonly callId: string;
  readonly parts: readonly ModelPart[];
}

/** Whether code of the provider made the call. This code then reads the result, and the model does not. */
export function isOfCode(api: string, { item }: Call): boolean {
  return item !== undefined && isNativeTo(api, item) && codeOfCall(item) !== undefined;
}

/** Replaces a missing result, because every format requires one result for each call. */
const NO_RESULT = 'There is no result: the call was interrupted. It may have taken effect: check before you repeat it.';

/** The model parts that show the images and files of each item. */
export type AttachedParts = ReadonlyMap<OutputItem, readonly ModelPart[]>;

export function conversationTurns(
  api: string,
  conversation: readonly OutputItem[],
  attached: AttachedParts,
): ConversationTurn[] {
  const reader = new ConversationReader(api, attached);
  for (const item of conversation) reader.add(item);
  return reader.end();
}

/** Drops reasoning at the end of the parts: the item that it led to is missing, and services reject reasoning alone. */
export function withoutLooseReasoning(parts: readonly AnswerPart[]): readonly AnswerPart[] {
  const last = parts.findLastIndex((part) => !isReasoning(part) && !(part.type === 'text' && part.text.trim() === ''));
  return parts.filter((part, index) => index <= last || !isReasoning(part));
}

export function isReasoning(part: AnswerPart): part is Extract<AnswerPart, { type: 'reasoning' }> {
  return part.type === 'reasoning' && isThought(part.item);
}

/** Hosted tool calls share the item type of reasoning, but are not reasoning. */
export function isThought({ type, native }: OutputItem): boolean {
  return type === 'reasoning' && (native === undefined || wireMembers(native).type === 'redacted_thinking');
}

/**
 * Whether the reasoning is of a model whose reasoning this model cannot read. Models of Anthropic read, or silently
 * drop, that of each other: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking, as read on
 * 2026-11-28.
 */
export function isOfOtherModel({ model: author }: ReasoningItem, model: string): boolean {
  if (typeof author !== 'string' || author === model) return false;
  return !(isClaude(author) && isClaude(model));
}

/** Whether the item came through this wire format, so that its native members are valid in this format. */
export function isNativeTo(api: string, item: OutputItem | undefined): boolean {
  return item?.api === api;
}

type SpokenItem = MessageItem | ReasoningItem | FunctionCallItem | ScriptExecutionItem | HostedItem;
type ResultItem = FunctionCallOutputItem | ScriptExecutionOutputItem;

/**
 * Groups the items of a conversation into turns:
 *
 *   between ──an item of the model──▶ answering ──a result──▶ answering … ──an item of another answer──▶ answering
 *      ▲                                     │
 *      └── a message while no call is open; the end ──┘
 */
class ConversationReader {
  readonly #api: string;
  readonly #attached: AttachedParts;
  readonly #turns: ConversationTurn[] = [];
  readonly #callIds: CallIds;
  #answer: OpenAnswer | undefined;
  /** Messages and late results received while calls were open. */
  #heldTurns: ConversationTurn[] = [];

  constructor(api: string, attached: AttachedParts) {
    this.#api = api;
    this.#callIds = new CallIds(api);
    this.#attached = attached;
  }

  add(item: OutputItem): void {
    switch (item.type) {
      case 'message':
        return item.role === 'assistant' ? this.#itemAnswer(item).addMessage(item) : this.#say(item, item.role);
      case 'reasoning':
        return this.#itemAnswer(item).addReasoning(item);
      case 'function_call':
        // Services reject a call that names no tool, or that has no result.
        return item.name === '' || item.hosted === true ? undefined : this.#itemAnswer(item).addCall(item);
      case 'hosted_code':
      case 'hosted_code_output':
        return this.#itemAnswer(item).addHosted(item);
      case 'script_execution':
        return this.#itemAnswer(item).addScript(item);
      case 'function_call_output':
      case 'script_execution_output':
        return this.#addResult(item);
      case 'error':
        // These items are shown to users only. The model reads the failure in a result.
        return;
    }
  }

  end(): ConversationTurn[] {
    this.#closeAnswer();
    return this.#turns;
  }

  #itemAnswer(item: SpokenItem): OpenAnswer {
    const id = wireName(item.answer_id);
    if (this.#answer?.takes(id, this.#heldTurns.length === 0) !== true) {
      this.#closeAnswer();
      this.#answer = new OpenAnswer(this.#api, id, this.#callIds);
    }
    return this.#answer!;
  }

  #say(item: MessageItem, role: 'user' | 'system'): void {
    this.#place({ type: role, text: item.content, attached: this.#attached.get(item) ?? [] });
  }

  #addResult(item: ResultItem): void {
    const text = item.type === 'function_call_output' ? item.output : scriptReport(item);
    const parts: ModelPart[] = [{ type: 'text', text }, ...(this.#attached.get(item) ?? [])];
    const success = item.type === 'function_call_output' ? item.success : item.status === 'completed';
    const taken = this.#answer?.resolve(item.call_id, success, parts) === true;
    if (!taken) this.#place({ type: 'late_result', result: { callId: item.call_id, parts } });
  }

  #place(turn: ConversationTurn): void {
    if (this.#answer?.waits === true) return void this.#heldTurns.push(turn);
    this.#closeAnswer();
    this.#turns.push(turn);
  }

  #closeAnswer(): void {
    if (this.#answer !== undefined) this.#turns.push(this.#answer.turn());
    this.#answer = undefined;
    this.#turns.push(...this.#heldTurns);
    this.#heldTurns = [];
  }
}

interface OpenText {
  text: string;
  readonly item: OutputItem;
  /** True if the text is a part of a message that was split at its scripts, or was joined from such parts. */
  pieced: boolean;
}

class OpenAnswer {
  readonly #api: string;
  readonly #id: string | undefined;
  readonly #callIds: CallIds;
  readonly #parts: (Exclude<AnswerPart, { type: 'text' }> | ({ readonly type: 'text' } & OpenText))[] = [];
  /** The calls by the `call_id` of their items; the newest call if an id occurs twice. */
  readonly #calls = new Map<string, Call>();
  readonly #results = new Map<Call, Omit<AnsweredCall, 'call'>>();
  /** Whether the result of each script in the text has arrived, by `call_id`. */
  readonly #scripts = new Map<string, boolean>();
  readonly #textResults: TextResult[] = [];

  constructor(api: string, id: string | undefined, callIds: CallIds) {
    this.#api = api;
    this.#id = id;
    this.#callIds = callIds;
  }

  /** Whether an item with this `answer_id` belongs to this answer. */
  takes(id: string | undefined, nothingWasSaid: boolean): boolean {
    if (id !== undefined && this.#id !== undefined) return id === this.#id;
    return nothingWasSaid && this.#results.size === 0 && this.#textResults.length === 0;
  }

  get waits(): boolean {
    return this.#results.size < this.#callCount() || [...this.#scripts.values()].includes(false);
  }

  addMessage(item: MessageItem): void {
    // The visible text may differ from the text that the model wrote.
    if (typeof item.raw_text === 'string') this.#addText(item.raw_text, item, true);
    else this.#addText(item.content, item, false);
  }

  addReasoning(item: ReasoningItem): void {
    if (typeof item.raw_text === 'string') this.#addText(item.raw_text, item, true);
    else this.#parts.push({ type: 'reasoning', item });
  }

  addHosted(item: HostedItem): void {
    this.#parts.push({ type: 'hosted', item });
  }

  addCall(item: FunctionCallItem): void {
    const id = this.#callIds.wireId(item.call_id, isNativeTo(this.#api, item));
    const custom = item.native_type === 'custom_tool_call';
    this.#open(item.call_id, { id, name: callName(item.name), arguments: item.arguments, custom, item });
  }

  /** Adds a script of the text or of a call. If the call was stored, the answer already contains the call. */
  addScript(item: ScriptExecutionItem): void {
    if (item.raw_text !== undefined) this.#addText(item.raw_text, item, true);
    if (this.#calls.has(item.call_id)) return;
    if (item.format === 'tool')
      return this.#open(item.call_id, callOfScript(item, this.#callIds.wireId(item.call_id, false)));
    this.#scripts.set(item.call_id, false);
  }

  /** Adds a result. Returns false if its call or script is not part of this answer, or already has a result. */
  resolve(callId: string, success: boolean, parts: readonly ModelPart[]): boolean {
    const call = this.#calls.get(callId);
    if (call !== undefined && !this.#results.has(call)) {
      this.#results.set(call, { success, parts });
      return true;
    }
    if (this.#scripts.get(callId) !== false) return false;
    this.#scripts.set(callId, true);
    this.#textResults.push({ callId, parts });
    return true;
  }

  turn(): AnswerTurn {
    const results = this.#parts.flatMap((part): AnsweredCall[] => {
      if (part.type !== 'call') return [];
      const missing = { success: false, parts: [{ type: 'text' as const, text: NO_RESULT }] };
      return [{ call: part.call, ...(this.#results.get(part.call) ?? missing) }];
    });
    return { type: 'answer', parts: this.#parts, results, textResults: this.#textResults };
  }

  #open(callId: string, call: Call): void {
    this.#calls.set(callId, call);
    this.#parts.push({ type: 'call', call });
  }

  #callCount(): number {
    return this.#parts.filter(({ type }) => type === 'call').length;
  }

  /** Adds text. Text that was split at its scripts is rejoined; texts that arrived as two messages stay separate. */
  #addText(text: string, item: OutputItem, piece: boolean): void {
    const last = this.#parts.at(-1);
    const joins = last?.type === 'text' && (piece || last.pieced) && last.item.native_id === item.native_id;
    if (!joins) return void this.#parts.push({ type: 'text', text, item, pieced: piece });
    last.text += text;
    last.pieced = true;
  }
}

function callOfScript(item: ScriptExecutionItem, id: string): Call {
  const custom = item.carrier === 'custom';
  return {
    id,
    name: SCRIPT_TOOL,
    arguments: custom ? item.source_code : JSON.stringify({ code: item.source_code }),
    custom,
    item: undefined,
  };
}

/** Every format accepts an id or a name of this shape. */
const LEGAL_NAME = /^[\w-]{1,64}$/u;

/**
 * The nearest name that every format accepts. A model can call any name, and services refuse a request that contains an
 * illegal one.
 */
function callName(name: string): string {
  return LEGAL_NAME.test(name) ? name : name.replaceAll(/[^\w-]/gu, '_').slice(0, 64);
}

/** Whether a service accepts an id that it created itself. Some compatible servers derive their ids from names. */
function isOwnId(api: string, callId: string): boolean {
  return api === 'anthropic-messages' ? LEGAL_NAME.test(callId) : callId.length <= 64;
}

/** The wire ids of a conversation's calls. The same conversation always gets the same ids. */
class CallIds {
  readonly #api: string;
  readonly #takenIds = new Set<string>();

  constructor(api: string) {
    this.#api = api;
  }

  /**
   * An id that the format accepts and that no earlier call has: the call's own id if possible. `isNative`: the id came
   * through this format.
   */
  wireId(callId: string, isNative: boolean): string {
    const isLegal = LEGAL_NAME.test(callId) || (isNative && isOwnId(this.#api, callId));
    const base = isLegal ? callId : `call_${sha256(callId).slice(0, 24)}`;
    let id = base;
    for (let count = 2; this.#takenIds.has(id); count += 1) id = `${base.slice(0, 56)}_${count}`;
    this.#takenIds.add(id);
    return id;
  }
}
