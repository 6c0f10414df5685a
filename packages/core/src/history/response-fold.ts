import type {
  EventPayload,
  OutputItem,
  OutputItemType,
  Response,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
  StreamEvent,
  Usage,
} from '../protocol/index.js';
import { ITEM_SHAPES } from './item-shapes.js';
import { fitsShape } from './json-shape.js';

type Payload<Type extends EventPayload['type']> = Extract<EventPayload, { type: Type }>;

export type ToolCallStart = Payload<'tool_call_start'>;
export type PendingApproval = Payload<'approval_requested'>['approval'];

/** Current activity that is not an item. */
export interface LiveActivity {
  /** Calls that have started but not ended, in start order. */
  toolCalls: ToolCallStart[];
  /** Undecided approvals, in request order. */
  pendingApprovals: PendingApproval[];
}

type RunIdentity = Pick<Response, 'run_id' | 'thread_id' | 'turn_id'>;

interface Entry {
  /** The `item_id` of the item's events. */
  readonly id: string;
  /**
   * The item to show; undefined if there is none. Replaced on change, never mutated, because older responses share it.
   */
  item: OutputItem | undefined;
  finished: boolean;
  /** The text accumulated from deltas; undefined if `item` is up to date. */
  text: string | undefined;
  error: { code: string; message: string } | undefined;
}

type ScriptStatus = ScriptExecutionItem['status'];

const STATUS_AFTER: Record<ScriptExecutionOutputItem['status'], ScriptStatus> = {
  completed: 'completed',
  failed: 'error',
  suspended: 'suspended',
};

/**
 * Folds the events of one run, in order and without duplicates. The fold shares the items of the events, but changes
 * neither events nor the items of a response that it has returned.
 */
export class ResponseFold {
  readonly #entries = new Map<string, Entry>();
  /** Scripts by `call_id`, to find the script of an output. */
  readonly #scripts = new Map<string, Entry>();
  /** The statuses that outputs assigned to scripts, by `call_id`. */
  readonly #settledScripts = new Map<string, ScriptStatus>();
  readonly #toolCalls = new Map<string, ToolCallStart>();
  readonly #approvals = new Map<string, PendingApproval>();
  #identity: RunIdentity | undefined;
  #status: Response['status'] = 'in_progress';
  #usage: Usage | undefined;
  #error: Response['error'];
  #response: Response | undefined;

  apply(event: StreamEvent): void {
    this.#response = undefined;
    this.#identity ??= eventIdentity(event);
    const { payload } = event;
    if (payload.type === 'item_delta') this.#appendText(payload);
    else this.#applyPayload(payload);
  }

  /** Returns the same object until the next event. `fallback` identifies the run until an event has been applied. */
  response(fallback: StreamEvent | undefined): Response {
    if (this.#response !== undefined) return this.#response;
    const identity =
      this.#identity ?? (fallback ? eventIdentity(fallback) : { run_id: '', thread_id: '', turn_id: '' });
    const response: Response = { ...identity, status: this.#status, output_items: this.#items() };
    if (this.#usage !== undefined) response.usage = this.#usage;
    if (this.#error !== undefined) response.error = this.#error;
    if (this.#identity !== undefined) this.#response = response;
    return response;
  }

  live(): LiveActivity {
    return { toolCalls: [...this.#toolCalls.values()], pendingApprovals: [...this.#approvals.values()] };
  }

  clone(): ResponseFold {
    const copy = new ResponseFold();
    const entries = new Map<Entry, Entry>();
    for (const [id, entry] of this.#entries) {
      const entryCopy = { ...entry };
      entries.set(entry, entryCopy);
      copy.#entries.set(id, entryCopy);
    }
    for (const [callId, entry] of this.#scripts) copy.#scripts.set(callId, entries.get(entry)!);
    copyInto(copy.#settledScripts, this.#settledScripts);
    copyInto(copy.#toolCalls, this.#toolCalls);
    copyInto(copy.#approvals, this.#approvals);
    copy.#identity = this.#identity;
    copy.#status = this.#status;
    copy.#usage = this.#usage;
    copy.#error = this.#error;
    return copy;
  }

  #applyPayload(payload: EventPayload): void {
    switch (payload.type) {
      case 'response_start':
        if (this.#status === 'suspended') this.#status = 'in_progress';
        return;
      case 'item_start':
        return this.#startItem(payload);
      case 'item_done':
        return this.#finishItem(payload);
      case 'item_error':
        return this.#failItem(payload);
      case 'item_cancelled':
        return this.#cancelItem(payload);
      case 'item_update':
        return this.#updateItem(payload);
      case 'tool_call_start':
        this.#toolCalls.set(callKey(payload), payload);
        return;
      case 'tool_call_done':
        this.#toolCalls.delete(callKey(payload));
        return;
      case 'approval_requested':
        this.#approvals.set(payload.approval.approval_id, payload.approval);
        return;
      case 'approval_resolved':
        this.#approvals.delete(payload.approval_id);
        return;
      case 'usage_update':
        this.#usage = payload.usage;
        return;
      case 'response_done':
        this.#status = payload.status;
        if (payload.usage !== undefined) this.#usage = payload.usage;
        if (payload.status !== 'suspended') this.#endActivity();
        return;
      case 'response_error':
        this.#status = 'failed';
        this.#error = { code: payload.code, message: payload.message };
        this.#endActivity();
        return;
      default:
        // Progress and log events create no items. Newer writers may send payloads that this version does not know.
        return;
    }
  }

  #startItem({ item_id: id, item_type: type, initial }: Payload<'item_start'>): void {
    if (this.#entries.has(id)) return;
    const entry = this.#addEntry(id);
    setItem(entry, placeholderItem(type, id, initial));
    this.#rememberScript(entry);
  }

  #appendText({ item_id: id, delta }: Payload<'item_delta'>): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.finished || entry.item === undefined) return;
    const text = entry.text ?? itemText(entry.item);
    if (text !== undefined) entry.text = text + delta;
  }

  /** The final item replaces the accumulated text and the cancellation mark, at the position where the item started. */
  #finishItem({ item_id: id, final_item: item }: Payload<'item_done'>): void {
    const entry = this.#entries.get(id) ?? this.#addEntry(id);
    setItem(entry, item);
    entry.finished = true;
    if (item.type === 'script_execution_output') this.#settleScript(item);
    if (item.type !== 'script_execution') return;
    this.#rememberScript(entry);
    const settled = this.#settledScripts.get(item.call_id);
    if (settled !== undefined && isOpen(item.status)) setScriptStatus(entry, settled);
  }

  #failItem({ item_id: id, code, message }: Payload<'item_error'>): void {
    const entry = this.#entries.get(id) ?? this.#addEntry(id);
    entry.error = { code, message };
    entry.finished = true;
    setScriptStatus(entry, 'error');
  }

  #cancelItem({ item_id: id, reason }: Payload<'item_cancelled'>): void {
    const entry = this.#entries.get(id);
    const item = entry && currentItem(entry);
    if (entry === undefined || item === undefined) return;
    if (entry.finished || isReadable(item)) {
      setItem(
        entry,
        withMembers(item, reason === undefined ? { cancelled: true } : { cancelled: true, cancel_reason: reason }),
      );
      if (item.type === 'script_execution' && isOpen(item.status)) setScriptStatus(entry, 'error');
    } else {
      setItem(entry, undefined);
    }
    entry.finished = true;
  }

  #updateItem({ item_id: id, changes }: Payload<'item_update'>): void {
    const entry = this.#entries.get(id);
    const item = entry && currentItem(entry);
    if (entry === undefined || item === undefined) return;
    const updated = withMembers(item, changes);
    setItem(entry, updated);
    this.#rememberScript(entry);
    if (updated.type === 'script_execution_output' && Object.hasOwn(changes, 'status')) this.#settleScript(updated);
  }

  #rememberScript(entry: Entry): void {
    const { item } = entry;
    if (item?.type === 'script_execution' && item.call_id !== '') this.#scripts.set(item.call_id, entry);
  }

  #settleScript(output: ScriptExecutionOutputItem): void {
    const status = STATUS_AFTER[output.status];
    this.#settledScripts.set(output.call_id, status);
    const script = this.#scripts.get(output.call_id);
    if (script !== undefined) setScriptStatus(script, status);
  }

  #addEntry(id: string): Entry {
    const entry: Entry = { id, item: undefined, finished: false, text: undefined, error: undefined };
    this.#entries.set(id, entry);
    return entry;
  }

  #endActivity(): void {
    this.#toolCalls.clear();
    this.#approvals.clear();
  }

  #items(): OutputItem[] {
    const items: OutputItem[] = [];
    for (const entry of this.#entries.values()) {
      const item = currentItem(entry);
      if (item !== undefined) items.push(item);
      if (entry.error === undefined) continue;
      items.push({ type: 'error', id: item === undefined ? entry.id : `${entry.id}_error`, ...entry.error });
    }
    return items;
  }
}

function setItem(entry: Entry, item: OutputItem | undefined): void {
  entry.item = item;
  entry.text = undefined;
}

/** The entry's item with the text of all deltas so far. */
function currentItem(entry: Entry): OutputItem | undefined {
  if (entry.item === undefined || entry.text === undefined) return entry.item;
  const member = textMember(entry.item.type)!;
  setItem(entry, { ...entry.item, [member]: entry.text } as OutputItem);
  return entry.item;
}

function setScriptStatus(entry: Entry, status: ScriptStatus): void {
  const item = currentItem(entry);
  if (item?.type === 'script_execution' && item.status !== status) setItem(entry, { ...item, status });
}

function itemText(item: OutputItem): string | undefined {
  const member = textMember(item.type);
  return member && (item as Partial<Record<typeof member, string>>)[member];
}

/** Whether an unfinished item is useful to a user. A partial call or script is not. */
function isReadable(item: OutputItem): boolean {
  return item.type !== 'function_call' && item.type !== 'script_execution' && itemText(item) !== '';
}

function isOpen(status: ScriptStatus): boolean {
  return status === 'pending' || status === 'executing';
}

function callKey({
  script_id: scriptId,
  call_id: callId,
}: {
  script_id?: string | undefined;
  call_id: string;
}): string {
  return scriptId === undefined ? callId : JSON.stringify([scriptId, callId]);
}

function eventIdentity({ run_id, thread_id, turn_id }: StreamEvent): RunIdentity {
  return { run_id, thread_id, turn_id };
}

function copyInto<Key, Value>(target: Map<Key, Value>, source: ReadonlyMap<Key, Value>): void {
  for (const [key, value] of source) target.set(key, value);
}

/** The member that `item_delta` appends to; undefined for items without streamed text. */
function textMember(type: OutputItemType): 'content' | 'arguments' | 'source_code' | undefined {
  switch (type) {
    case 'message':
    case 'reasoning':
      return 'content';
    case 'function_call':
      return 'arguments';
    case 'script_execution':
    case 'hosted_code':
      return 'source_code';
    default:
      return undefined;
  }
}

/**
 * The placeholder of an item that has only started; undefined for all items that have no content before their
 * `item_done`, such as results and errors.
 */
function placeholderItem(
  type: OutputItemType,
  id: string,
  initial: Readonly<Record<string, unknown>> = {},
): OutputItem | undefined {
  const empty = emptyItem(type, id);
  return empty && withMembers(empty, initial);
}

/**
 * A copy of the item with the changes applied. Changes of `type` or `id` and changes that violate a member's schema
 * are skipped; members that the protocol does not know are applied unchanged.
 */
function withMembers<Item extends OutputItem>(item: Item, changes: Readonly<Record<string, unknown>>): Item {
  const merged: Item = { ...item };
  for (const [member, value] of Object.entries(changes)) {
    if (!fits(item.type, member, value)) continue;
    // An assignment to `__proto__` would change the prototype instead of the data.
    Object.defineProperty(merged, member, { value, enumerable: true, writable: true, configurable: true });
  }
  return merged;
}

function fits(type: OutputItemType, member: string, value: unknown): boolean {
  if (member === 'type' || member === 'id') return false;
  const members = ITEM_SHAPES[type];
  return Object.hasOwn(members, member) ? fitsShape(members[member]!, value) : true;
}

function emptyItem(type: OutputItemType, id: string): OutputItem | undefined {
  switch (type) {
    case 'message':
      return { type, id, role: 'assistant', content: '' };
    case 'reasoning':
      return { type, id, content: '' };
    case 'function_call':
      return { type, id, call_id: '', name: '', arguments: '' };
    case 'script_execution':
      return {
        type,
        id,
        call_id: '',
        language: 'ts',
        format: 'xml',
        source_code: '',
        source_sha256: '',
        status: 'pending',
      };
    case 'hosted_code':
      return { type, id, call_id: '', language: 'python', source_code: '' };
    default:
      return undefined;
  }
}
