import type { AnswerSegment } from '../protocol/index.js';
import type { AnswerWork } from './answer-work.js';
import type { TextPieces } from './text-pieces.js';

/** Ends a piece of text, or runs the segment's script. `warns`: a warning replaces each script. */
export async function playSegment(
  segment: AnswerSegment,
  { pieces, work, warns }: { pieces: TextPieces; work: AnswerWork; warns: boolean },
): Promise<void> {
  if (segment.type === 'text') return pieces.close('message', segment.text, segment.raw);
  if (segment.type === 'reasoning') return pieces.close('reasoning', segment.text, segment.raw);
  if (warns) return pieces.warn(segment.raw);
  const { source, language, format, raw } = segment;
  const failure = segment.type === 'malformed' ? { failure: segment.failure } : {};
  await work.script({ source, language, item: pieces.script(format, raw), ...failure });
}
