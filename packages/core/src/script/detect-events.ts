import type { AnswerSegment, ScriptLanguage } from '../protocol/script.js';

/**
 * `text_delta` and `reasoning_delta` carry the segment's `text` in pieces; the finished `segment` follows and
 * contains all of it. Scripts and malformed blocks arrive as one `segment`, without deltas.
 *
 * With `sourceDeltas`, `script_start` reports that a block has opened, and `source_delta` carries its source. The
 * joined deltas of a block are the `source` of its segment, whether a script or malformed: text that may not belong
 * to the source is withheld. Such text is the beginning of a closing tag or line. It is also all text after a closing
 * tag at a line's start that did not close the block (inside a literal, or of a nested block), because the block may
 * turn out to have ended there. A closing tag that closes nothing is a malformed segment that never started.
 */
export type DetectorEvent =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'reasoning_delta'; readonly text: string }
  | { readonly type: 'script_start'; readonly language: ScriptLanguage; readonly format: 'xml' | 'fence' }
  | { readonly type: 'source_delta'; readonly text: string }
  | { readonly type: 'segment'; readonly segment: AnswerSegment };
