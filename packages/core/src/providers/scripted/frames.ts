import { inDeltas, type TextChunk } from './planned-answer.js';

/** One step of a scripted server's response. */
export type Frame =
  | { readonly type: 'event'; readonly name: string | undefined; readonly data: unknown }
  | { readonly type: 'wait'; readonly ms: number }
  /** The connection breaks. */
  | { readonly type: 'cut' };

export function event(data: { readonly type: string }): Frame {
  return { type: 'event', name: data.type, data };
}

/** Emits text as deltas, with the pauses between them. */
export function emitChunks(
  frames: Frame[],
  chunks: readonly TextChunk[],
  deltaLength: number,
  emit: (delta: string) => void,
): void {
  for (const chunk of chunks) {
    if (typeof chunk === 'number') frames.push({ type: 'wait', ms: chunk });
    else for (const delta of inDeltas(chunk, deltaLength)) emit(delta);
  }
}

export function textOfFrame({ name, data }: Extract<Frame, { type: 'event' }>): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`;
}
