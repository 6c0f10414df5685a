import { inDeltas, type Saying } from './planned-answer.js';

/** What a scripted server puts on the wire, piece by piece. */
export type Frame =
  | { readonly type: 'event'; readonly name: string | undefined; readonly data: unknown }
  | { readonly type: 'wait'; readonly ms: number }
  /** The connection breaks. */
  | { readonly type: 'cut' };

export function event(data: { readonly type: string }): Frame {
  return { type: 'event', name: data.type, data };
}

/** Text in deltas, with the silences between its pieces. */
export function tellSayings(
  frames: Frame[],
  sayings: readonly Saying[],
  deltaLength: number,
  tell: (delta: string) => void,
): void {
  for (const saying of sayings) {
    if (typeof saying === 'number') frames.push({ type: 'wait', ms: saying });
    else for (const delta of inDeltas(saying, deltaLength)) tell(delta);
  }
}

export function textOfFrame({ name, data }: Extract<Frame, { type: 'event' }>): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`;
}
