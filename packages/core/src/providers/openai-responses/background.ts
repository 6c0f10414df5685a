import type { WireEvent } from '../body.js';
import { wireCount, wireMembers, wireName } from '../wire-values.js';

const ENDS: readonly string[] = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled'];
const LOSSES: readonly string[] = ['AnswerInterrupted', 'AnswerStalled', 'AnswerTruncated'];

/**
 * The place in the stream of a background answer: the service continues the answer without its reader, who may read the
 * rest of the stream later. Source: https://developers.openai.com/api/docs/guides/background, read on 2026-11-28.
 */
export class BackgroundPlace {
  #id: string | undefined;
  #last: number | undefined;
  #isEnded = false;
  /** The number of times that the stream was resumed since its last event. */
  #resumed = 0;
  /** Whether the answer was begun by another process, and nothing of it has been read. */
  #isUnread: boolean;

  /** `id`: the answer that an earlier process began. */
  constructor(id?: string) {
    this.#id = id;
    this.#isUnread = id !== undefined;
  }

  /** The service's id of the answer, as soon as the service has said it. */
  get id(): string | undefined {
    return this.#id;
  }

  see(event: WireEvent): void {
    if (event.type !== 'event') return;
    const { type, response, sequence_number } = wireMembers(event.data);
    this.#id ??= wireName(wireMembers(response).id);
    this.#last = wireCount(sequence_number) ?? this.#last;
    this.#isEnded ||= ENDS.includes(wireName(type) ?? event.name);
    this.#resumed = 0;
    this.#isUnread = false;
  }

  /** Whether the connection was lost before the answer's end. */
  isLoss(event: WireEvent): boolean {
    if (this.#isEnded) return false;
    return event.type === 'body_end' || (event.type === 'broken' && LOSSES.includes(event.code));
  }

  /** The URL of the rest of the stream, and the number of attempts to read it; undefined if the place is not known. */
  rest(url: URL): { readonly url: URL; readonly attempts: number } | undefined {
    const rest = this.#answerUrl(url, '');
    if (rest === undefined || (this.#last === undefined && !this.#isUnread)) return undefined;
    rest.searchParams.set('stream', 'true');
    if (this.#last !== undefined) rest.searchParams.set('starting_after', String(this.#last));
    return { url: rest, attempts: this.#resumed++ };
  }

  /** The URL that cancels the answer; undefined if the answer has ended or is not known. */
  cancellation(url: URL): URL | undefined {
    return this.#isEnded ? undefined : this.#answerUrl(url, '/cancel');
  }

  #answerUrl(url: URL, action: string): URL | undefined {
    if (this.#id === undefined) return undefined;
    const place = new URL(url);
    place.pathname += `/${encodeURIComponent(this.#id)}${action}`;
    return place;
  }
}
