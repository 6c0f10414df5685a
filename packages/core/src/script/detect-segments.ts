import { scriptFailure, type ScriptFailure } from '../protocol/errors.js';
import type { AnswerSegment, SourcePosition } from '../protocol/script.js';
import type { BlockEnd, BlockProblem, OpenBlock } from './detect-block.js';

type BlockSegment = Extract<AnswerSegment, { type: 'script' | 'malformed' }>;

const REST_OF_OPENING_LINE = /[ \t]*\r?\n/y;

const NEWLINE = 0x0a;

/** The segment of a finished block; `raw` is its whole text. */
export function blockSegment(end: BlockEnd, raw: string): BlockSegment {
  const { block } = end;
  const sourceStart = startOfSource(end, raw);
  const source = raw.slice(sourceStart, Math.max(end.sourceEnd - block.start, sourceStart));
  const { language, format } = block;
  if (end.problem === undefined) return { type: 'script', raw, source, language, format };
  const failure = blockFailure(block, end.problem, source, block.start + sourceStart);
  return { type: 'malformed', raw, source, language, format, failure };
}

/** The segment of a closing tag that closes nothing. */
export function strayClosingTag(name: string, raw: string): AnswerSegment {
  const message = `The closing tag </${name}> has no <${name}> before it; put the opening tag before the script and send it again.`;
  const failure = scriptFailure('ScriptSyntaxError', message, { phase: 'detecting' });
  return { type: 'malformed', raw, source: '', language: 'ts', format: 'xml', failure };
}

/** Line 1 is the first line after the opening tag; text after the tag on its own line is line 1 itself. */
function startOfSource({ block, sourceEnd }: BlockEnd, raw: string): number {
  const body = block.bodyStart - block.start;
  if (block.format === 'fence') return body;
  REST_OF_OPENING_LINE.lastIndex = body;
  const begins = REST_OF_OPENING_LINE.test(raw) ? REST_OF_OPENING_LINE.lastIndex : body;
  return Math.min(begins, sourceEnd - block.start);
}

function blockFailure(block: OpenBlock, problem: BlockProblem, source: string, sourceStart: number): ScriptFailure {
  const opening = block.format === 'xml' ? `<${block.tag}>` : 'fenced tool-calls block';
  const closing = block.format === 'xml' ? `</${block.tag}>` : 'closing line of backticks';
  const at = positionIn(source, problem.at - sourceStart);
  switch (problem.type) {
    case 'nested':
      return detecting(
        `Another ${opening} opens on line ${at.line} inside this block; close the first one before the next, and send them again.`,
        at,
      );
    case 'unclosed-literal':
      return detecting(
        `The ${problem.literal} that begins on line ${at.line} is still open at the script's ${closing}; close it and send the script again.`,
        at,
      );
    case 'unfinished': {
      const inside = problem.inside === 'code' ? '' : `, inside the ${problem.inside} that begins on line ${at.line}`;
      return detecting(`The answer ended before the script's ${closing}${inside}; send the whole script again.`, at);
    }
  }
}

function detecting(message: string, at: SourcePosition): ScriptFailure {
  return scriptFailure('ScriptSyntaxError', message, { phase: 'detecting', ...at });
}

function positionIn(source: string, offset: number): SourcePosition {
  let line = 1;
  let lineStart = 0;
  for (let index = 0; index < offset && index < source.length; index += 1) {
    if (source.charCodeAt(index) !== NEWLINE) continue;
    line += 1;
    lineStart = index + 1;
  }
  return { line, column: Math.max(offset - lineStart, 0) + 1 };
}
