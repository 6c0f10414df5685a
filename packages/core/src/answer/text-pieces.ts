import { DISABLED_WARNING } from '../protocol/index.js';
import type { EventPayload, MessageItem, OutputItem, ScriptItemMembers, ScriptLanguage } from '../protocol/index.js';

type Emit = (payload: EventPayload) => void;

interface OpenPiece {
  id: string;
  type: 'message' | 'reasoning';
}

/** Members of a provider's message that each of its pieces has too, once they are known. */
const SHARED = ['native_id', 'phase'];

/**
 * A provider's message, split at its scripts. The joined texts of the pieces (`raw_text`, or else `content`) are the
 * message, byte for byte. A message without scripts stays unchanged.
 */
export class TextPieces {
  readonly #id: string;
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #emit: Emit;
  readonly #ids: string[] = [];
  #open: OpenPiece | undefined;
  /** The item of the script whose source is being emitted. */
  #openScript: string | undefined;
  #final: MessageItem | undefined;
  /** A message of one piece keeps its members as the provider sent them. */
  #isWhole = false;

  /** `initial`: the members of the provider's announcement. */
  constructor(id: string, initial: Readonly<Record<string, unknown>>, emit: Emit) {
    const { role: _role, ...members } = initial;
    this.#id = id;
    this.#members = members;
    this.#emit = emit;
  }

  delta(type: 'message' | 'reasoning', delta: string): void {
    if (delta === '') return;
    this.#openPiece(type);
    this.#emit({ type: 'item_delta', item_id: this.#open!.id, delta });
  }

  /** A piece of text, or of reasoning in text, has ended. */
  close(type: 'message' | 'reasoning', text: string, raw: string): void {
    this.#openPiece(type);
    this.#done(type, text, type === 'reasoning' ? { raw_text: raw } : {});
  }

  /** Replaces a script that is disabled. */
  warn(raw: string): void {
    this.delta('message', DISABLED_WARNING);
    this.#done('message', DISABLED_WARNING, { raw_text: raw });
  }

  /** A script begins whose source is emitted while it streams. */
  startScript(language: ScriptLanguage, format: 'xml' | 'fence'): void {
    const id = this.#nextId();
    this.#openScript = id;
    const initial = { ...this.#members, language, format, carrier: 'text' };
    this.#emit({ type: 'item_start', item_id: id, item_type: 'script_execution', initial });
  }

  /** Ignored unless the script has started. */
  sourceDelta(delta: string): void {
    if (this.#openScript !== undefined) this.#emit({ type: 'item_delta', item_id: this.#openScript, delta });
  }

  /** Members of the item of a script in text. */
  script(format: 'xml' | 'fence', raw: string): ScriptItemMembers {
    const started = this.#openScript;
    this.#openScript = undefined;
    const id = started ?? this.#nextId();
    const stage = started === undefined ? {} : { stage: 'started' as const };
    return { ...this.#members, id, format, carrier: 'text', raw_text: raw, ...stage };
  }

  /** The provider's message is complete: the next piece that ends is the last one. */
  finishing(final: MessageItem): void {
    this.#final = final;
  }

  /** Every piece has ended. */
  finished(): void {
    const final = this.#final!;
    if (this.#ids.length === 0) return this.close('message', final.content, final.content);
    if (this.#ids.length === 1 && this.#isWhole) return;
    const changes = Object.fromEntries(SHARED.filter((name) => name in final).map((name) => [name, final[name]]));
    if (Object.keys(changes).length === 0) return;
    for (const id of this.#ids) this.#emit({ type: 'item_update', item_id: id, changes });
  }

  /** The message was interrupted: the text so far is kept and marked, and half a script is dropped. */
  cancel(reason: string | undefined): void {
    const id = this.#open?.id ?? this.#openScript;
    if (id === undefined) return;
    this.#emit({ type: 'item_cancelled', item_id: id, ...(reason === undefined ? {} : { reason }) });
    this.#open = undefined;
    this.#openScript = undefined;
  }

  #openPiece(type: OpenPiece['type']): void {
    if (this.#open !== undefined) return;
    const id = this.#nextId();
    this.#open = { id, type };
    const role = type === 'message' ? { role: 'assistant' } : {};
    this.#emit({ type: 'item_start', item_id: id, item_type: type, initial: { ...this.#members, ...role } });
  }

  #done(type: OpenPiece['type'], text: string, more: object): void {
    const { id } = this.#open!;
    this.#open = undefined;
    this.#isWhole = this.#ids.length === 1 && type === 'message' && this.#final?.content === text;
    const own = type === 'message' ? { type, id, role: 'assistant', content: text } : { type, id, content: text };
    const item = { ...(this.#isWhole ? this.#final : this.#members), ...own, ...more } as OutputItem;
    this.#emit({ type: 'item_done', item_id: id, final_item: item });
  }

  #nextId(): string {
    const id = this.#ids.length === 0 ? this.#id : `${this.#id}_${this.#ids.length}`;
    this.#ids.push(id);
    return id;
  }
}
