import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerScanner, createDetector, type DetectorEvent } from '#core/script/detect/detector.js';
import { TagTable } from '#core/script/detect/markup.js';
import { tries } from '@toolscript/testkit/some-cases';
import { answers, splitAt } from './arbitrary-answers.js';

const options = { tags: ['tool-calls', 'script'] };

/** Answers in which the beginning or end of a block's source is hard to detect. */
const HARD: [string, string[]][] = [
  ['a\n<tool-calls>\nreturn 1\n</tool-calls>\nb', ['return 1\n']],
  ['<tool-calls>return 1</tool-calls><tool-calls>\nreturn 2</tool-calls>', ['return 1', 'return 2']],
  ['<tool-calls> \t\r\nreturn 1\n</tool-calls>', ['return 1\n']],
  ['<tool-calls> \t\r return 1</tool-calls>', [' \t\r return 1']],
  ['<tool-calls> \r\r\nreturn 1</tool-calls>', [' \r\r\nreturn 1']],
  ['<tool-calls> \r \nreturn 1</tool-calls>', [' \r \nreturn 1']],
  ['<tool-calls>  </tool-calls>', ['  ']],
  ['<tool-calls>\n</tool-calls>', ['']],
  ['<tool-calls>\nif (a </tool-calls', ['if (a </tool-calls']],
  ['<tool-calls>\nreturn "</tool-calls>"\n</tool-calls>', ['return "</tool-calls>"\n']],
  ['<tool-calls>\nreturn `\n</tool-calls>\n`\n</tool-calls>', ['return `\n</tool-calls>\n`\n']],
  ['<tool-calls>\n/* a\n  </tool-calls>\nthe rest of the answer', ['/* a\n  ']],
  ['<tool-calls>\na\n<tool-calls>\nb\n</tool-calls>\nc\n</tool-calls>', ['a\n<tool-calls>\nb\n</tool-calls>\nc\n']],
  ['<tool-calls>\na\n<tool-calls>\nb\n</tool-calls>\nc\n', ['a\n<tool-calls>\nb\n']],
  ['```ts tool-calls\nreturn 1\n```\nb', ['return 1\n']],
  ['```ts tool-calls\n  return 1\n   ``` \nb', ['  return 1\n']],
  ['```ts tool-calls\nf(`\n  ``` \nb', ['f(`\n']],
  ['````js tool-calls\na\n```\nb\n  ````', ['a\n```\nb\n']],
  ['```ts tool-calls\n/*\n   ```\n   x\n', ['/*\n']],
  ['```ts tool-calls\n/*\n   ```\n   */\n   ```', ['/*\n   ```\n   */\n']],
  ['</tool-calls> closes nothing', []],
  ['`<tool-calls>return 1</tool-calls>` is a tag', []],
  ['a ` b <tool-calls>return 1</tool-calls>\n\nc', ['return 1']],
  ['<think><tool-calls>return 1</tool-calls></think>', []],
];

function detect(deltas: readonly string[], sourceDeltas = true): DetectorEvent[] {
  const detector = createDetector({ ...options, sourceDeltas });
  return [...deltas.flatMap((delta) => [...detector.push(delta)]), ...detector.end()];
}

/** The emitted sources so far, one for each block that opened. */
function toldBy(events: readonly DetectorEvent[]): string[] {
  const told: string[] = [];
  for (const event of events) {
    if (event.type === 'script_start') told.push('');
    if (event.type === 'source_delta') told[told.length - 1] += event.text;
  }
  return told;
}

const withoutSources = (events: readonly DetectorEvent[]) =>
  events.filter(({ type }) => type !== 'script_start' && type !== 'source_delta');

/** Every block that opened has one start, then its source in deltas, then its segment. Returns the number of blocks. */
function expectBlocksInOrder(events: readonly DetectorEvent[]): number {
  let open: { language: string; format: string; source: string } | undefined;
  let blocks = 0;
  for (const event of events) {
    if (event.type === 'script_start') {
      expect(open).toBeUndefined();
      const { language, format } = event;
      open = { language, format, source: '' };
    } else if (event.type === 'source_delta') {
      expect(event.text).not.toBe('');
      open!.source += event.text;
    } else if (open === undefined) {
      // A closing tag that closes nothing never opened.
      const source = event.type === 'segment' && 'source' in event.segment ? event.segment.source : '';
      expect(source).toBe('');
    } else {
      expect(event).toMatchObject({ type: 'segment', segment: open });
      open = undefined;
      blocks += 1;
    }
  }
  expect(open).toBeUndefined();
  return blocks;
}

describe('the streamed source of a block', () => {
  it.each(HARD)('of %j is emitted as expected, in one piece and unit by unit', (answer, sources) => {
    for (const deltas of [[answer], answer.split('')]) {
      const events = detect(deltas);
      expect(toldBy(events)).toEqual(sources);
      expect(expectBlocksInOrder(events)).toBe(sources.length);
    }
  });

  it('joins to the source of its segment, script or malformed, however the answer is split', () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 12 }), (answer, cuts) => {
        const events = detect(splitAt(answer, cuts));
        expectBlocksInOrder(events);
        expect(toldBy(events)).toEqual(toldBy(detect([answer])));
        for (const event of events) if (event.type === 'segment') kinds.add(event.segment.type);
      }),
      { numRuns: tries(6000), examples: HARD.map(([answer]) => [answer, [1, 5, 9]]) },
    );
    expect([...kinds].toSorted()).toEqual(['malformed', 'reasoning', 'script', 'text']);
  });

  it('changes nothing else: text, reasoning and segments are emitted as without it', () => {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 12 }), (answer, cuts) => {
        const deltas = splitAt(answer, cuts);
        const plain = detect(deltas, false);
        expect(withoutSources(plain)).toEqual(plain);
        expect(withoutSources(detect(deltas))).toEqual(plain);
      }),
      { numRuns: tries(3000), examples: HARD.map(([answer]) => [answer, [1, 5, 9]]) },
    );
  });

  it('is always as long as the text allows, whatever the split', () => {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 12 }), (answer, cuts) => {
        const split = createDetector({ ...options, sourceDeltas: true });
        const whole = createDetector({ ...options, sourceDeltas: true });
        const bySplit = splitAt(answer, cuts).flatMap((delta) => [...split.push(delta)]);
        expect(toldBy(bySplit)).toEqual(toldBy(whole.push(answer)));
      }),
      { numRuns: tries(4000), examples: HARD.map(([answer]) => [answer, [1, 5, 9]]) },
    );
  });

  it.each([
    ['a tag', '<tool-calls>', '</tool-calls>', '</tool-calls'.length],
    ['a fence', '```ts tool-calls', '```', '   ```'.length],
  ])('%s: only what may be the beginning of the close is withheld', (_, opening, closing, most) => {
    const source =
      'const small = 1 < 2;\n  const text = `a ${"b"} </p>`;\n   // done </tool-\nreturn /`{3}/.test(text);\n';
    const detector = createDetector({ sourceDeltas: true });
    const events = [...detector.push(`${opening}\n`)];
    let typed = '';
    for (const unit of source) {
      events.push(...detector.push(unit));
      typed += unit;
      const [told = ''] = toldBy(events);
      expect(typed.startsWith(told)).toBe(true);
      expect(typed.length - told.length).toBeLessThanOrEqual(most);
    }
    events.push(...detector.push(`${closing}\n`));
    expect(toldBy(events)).toEqual([source]);
    expect(expectBlocksInOrder(events)).toBe(1);
  });

  it('waits after a closing tag that may be the real one, and continues when the block ends', () => {
    const detector = createDetector({ sourceDeltas: true });
    expect(toldBy(detector.push('<tool-calls>\nreturn `\n</tool-calls>\nmore'))).toEqual(['return `\n']);
    expect(detector.push(' and more')).toEqual([]);
    const [rest] = detector.push('`;\n</tool-calls>');
    expect(rest).toEqual({ type: 'source_delta', text: '</tool-calls>\nmore and more`;\n' });
  });

  it('is read once: the work for an answer is the same without it', () => {
    const answer = [
      '```ts tool-calls\n   a\n  `b`\n```\n',
      '<tool-calls>                \n   a < b\n</tool-calls>\n',
      '<tool-calls>\n/* b\n</tool-calls>\n',
    ].join('');
    for (const deltaLength of [1, 7, 1000]) {
      const [plain, telling] = [false, true].map((tells) => {
        const scanner = new AnswerScanner(new TagTable(['tool-calls']), true, tells);
        const text = answer.repeat(50);
        for (let at = 0; at < text.length; at += deltaLength) scanner.push(text.slice(at, at + deltaLength));
        scanner.end();
        return scanner.rescanned;
      });
      expect(telling).toBe(plain);
    }
  });
});
