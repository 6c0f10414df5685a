import type { AnswerSegment, ScriptLanguage } from '../protocol/script.js';

/**
 * `text_delta` and `reasoning_delta` carry the segment's `text` piece by piece; the finished `segment`
 * follows them and holds the whole. Scripts and malformed blocks come as one `segment`, without deltas.
 *
 * With `sourceDeltas`, `script_start` says that a block has opened, and `source_delta` carries its source. The
 * deltas of a block, joined, are the `source` of its segment, be it a script or malformed: what may not belong
 * to the source is withheld. That is a beginning closing tag or line and, behind a closing tag at a line's
 * start that did not close the block (inside a literal, or of a nested block), everything up to the block's
 * end, because the block may turn out to have ended there. A closing tag that closes nothing is a malformed
 * segment that never started.
 */
export type DetectorEvent =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'reasoning_delta'; readonly text: string }
  | { readonly type: 'script_start'; readonly language: ScriptLanguage; readonly format: 'xml' | 'fence' }
  | { readonly type: 'source_delta'; readonly text: string }
  | { readonly type: 'segment'; readonly segment: AnswerSegment };
