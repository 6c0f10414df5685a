import type { AnswerSegment } from '../protocol/script.js';
import { ToolscriptUsageError } from '../protocol/errors.js';
import type { DetectorEvent } from './detect-events.js';
import { AnswerScanner } from './detect-scanner.js';
import { REASONING_TAGS } from './detect-tags.js';

/**
 * Finds the scripts in a model's answer while it streams.
 *
 * The answer is cut into segments: text, reasoning, scripts and malformed blocks. Two laws hold for every answer: the
 * `raw` of all segments, joined, is the answer byte for byte; and the segments do not depend on how the answer was
 * split into deltas. Time is linear in the answer's length.
 *
 * - `<tool-calls> … </tool-calls>` is a script. Spaces may precede `>`, and `lang="ts"` or `lang="js"` may name the
 *   language; with any other attribute the tag is text. A block closes with its own tag only.
 * - A line of three or more backticks and `ts tool-calls` (or `typescript`, `js`, `javascript`) opens a script too,
 *   indented by three spaces at most; a line of equally many backticks and nothing else closes it.
 * - Every other fence, `~~~` included, is text to its closing line or to the end of the answer. It may be indented
 *   and may follow list markers.
 * - A code span is text: a run of backticks to the next run of the same length in the same paragraph. A blank line, a
 *   line that begins with an opening tag, and a fence end the paragraph, so that a stray backtick hides no later
 *   block. Runs of more than 32 backticks are plain text.
 * - `<thinking>` and `<think>` hold reasoning, which is never scanned. Unclosed, it reaches the answer's end.
 * - Inside a script, strings, templates, comments and regular expressions hide a closing tag. If the answer ends
 *   without a close, the first closing tag at a line's start ends the block as malformed, and detection continues after
 *   it. After eight such blocks in one answer, the next ones end at their first closing tag at a line's start without
 *   waiting; this keeps the time linear.
 * - A template literal cannot hold a bare line of backticks, so the closing line of a fence ends a script with an
 *   open template at once, as malformed.
 *
 * Text is withheld only while it may still turn out to be a block: a beginning tag or fence line, or a tag inside a
 * code span that has not been closed yet.
 */
export interface Detector {
  /**
   * Takes the next piece of the answer and returns the finished parts, in order. The array is shared when it is empty
   * and must not be changed.
   */
  push(delta: string): readonly DetectorEvent[];
  /** Ends the answer and decides all open parts. A repeated call returns nothing. */
  end(): readonly DetectorEvent[];
}

export interface DetectorOptions {
  /** Names of the tags that hold scripts. Default: `['tool-calls']`. */
  tags?: readonly string[];
  /** Whether fenced `tool-calls` blocks are scripts. Default: true. */
  fences?: boolean;
  /** Also emits the source of a block while it streams: `script_start` and `source_delta`. Default: false. */
  sourceDeltas?: boolean;
}

/**
 * A detector for one answer.
 *
 * @throws ToolscriptUsageError if a tag's name is not a plain XML name, or is one of the reasoning tags; `push`
 *   throws it if the delta is not a string or the answer has ended.
 */
export function createDetector(options: DetectorOptions = {}): Detector {
  const { tags = ['tool-calls'], fences = true, sourceDeltas = false } = options;
  const scanner = new AnswerScanner(checkedTags(tags), fences, sourceDeltas);
  return {
    push: (delta) => scanner.push(delta),
    end: () => scanner.end(),
  };
}

/** The segments of a whole answer. */
export function detectScripts(text: string, options?: DetectorOptions): AnswerSegment[] {
  const detector = createDetector(options);
  const segments: AnswerSegment[] = [];
  for (const event of [...detector.push(text), ...detector.end()]) {
    if (event.type === 'segment') segments.push(event.segment);
  }
  return segments;
}

const TAG_NAME = /^[A-Za-z][\w.:-]{0,63}$/;

function checkedTags(tags: readonly string[]): readonly string[] {
  for (const tag of tags) {
    if (typeof tag !== 'string' || !TAG_NAME.test(tag)) {
      throw new ToolscriptUsageError(
        `${JSON.stringify(tag)} cannot be a script tag: a tag is a letter followed by up to 63 letters, digits or any of _ . : -`,
      );
    }
    if (REASONING_TAGS.includes(tag)) {
      throw new ToolscriptUsageError(`"${tag}" cannot be a script tag: it holds the model's reasoning.`);
    }
  }
  return [...new Set(tags)];
}
