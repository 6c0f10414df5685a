import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerSegment } from '#core/protocol/index.js';
import { AnswerScanner, createDetector, detectScripts, type DetectorEvent } from '#core/script/detect/detector.js';
import { TagTable } from '#core/script/detect/markup.js';
import { tries } from '@toolscript/testkit/some-cases';
import { answers, splitAt } from './arbitrary-answers.js';

const options = { tags: ['tool-calls', 'script'] };

/** Known answers and the types of their segments, which prove that the laws below cover every kind. */
const KNOWN: [string, AnswerSegment['type'][]][] = [
  ['hello', ['text']],
  ['a\n<tool-calls>\nreturn 1\n</tool-calls>\nb', ['text', 'script', 'text']],
  ['<think>a</think><script>1</script>', ['reasoning', 'script']],
  ['a ` b <tool-calls>1</tool-calls>\n\n`', ['text', 'script', 'text']],
  ['```ts tool-calls\n1\n```\n<tool-calls>\n/*\n</tool-calls>\nx', ['script', 'text', 'malformed', 'text']],
  ['`<tool-calls>`</tool-calls>', ['text', 'malformed']],
];

function detectSplit(deltas: readonly string[]): { events: DetectorEvent[]; segments: AnswerSegment[] } {
  const detector = createDetector(options);
  const events = [...deltas.flatMap((delta) => [...detector.push(delta)]), ...detector.end()];
  return { events, segments: events.flatMap((event) => (event.type === 'segment' ? [event.segment] : [])) };
}

/** Every segment follows exactly the deltas that make up its text. */
function expectDeltasToMatch(events: readonly DetectorEvent[]): void {
  let pending = '';
  for (const event of events) {
    if (event.type === 'text_delta' || event.type === 'reasoning_delta') {
      expect(event.text).not.toBe('');
      pending += event.text;
      continue;
    }
    if (event.type !== 'segment') throw new Error(`unexpected event: ${event.type}`);
    const { segment } = event;
    expect(pending).toBe(segment.type === 'text' || segment.type === 'reasoning' ? segment.text : '');
    pending = '';
  }
  expect(pending).toBe('');
}

describe('laws for every answer', () => {
  it.each(KNOWN)('the known answer %j is read as expected', (answer, types) => {
    expect(detectScripts(answer, options).map((segment) => segment.type)).toEqual(types);
  });

  it('the raw of all segments, joined, is the answer, and no segment is empty', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const segments = detectScripts(answer, options);
        expect(segments.map((segment) => segment.raw).join('')).toBe(answer);
        expect(segments.every((segment) => segment.raw !== '')).toBe(true);
      }),
      { numRuns: tries(3000) },
    );
  });

  it('any split of an answer gives the same segments, with deltas that join to their text', () => {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 12 }), (answer, cuts) => {
        const { events, segments } = detectSplit(splitAt(answer, cuts));
        expect(segments).toEqual(detectScripts(answer, options));
        expectDeltasToMatch(events);
      }),
      { numRuns: tries(6000), examples: KNOWN.map(([answer]) => [answer, [1, 5, 9]]) },
    );
  });

  it('deltas of one UTF-16 unit give the same segments', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const { events, segments } = detectSplit(answer.split(''));
        expect(segments).toEqual(detectScripts(answer, options));
        expectDeltasToMatch(events);
      }),
      { numRuns: tries(3000), examples: KNOWN.map(([answer]) => [answer]) },
    );
  });

  it('neighbouring segments are never both text', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const types = detectScripts(answer, options).map((segment) => segment.type);
        expect(types.some((type, index) => type === 'text' && types[index + 1] === 'text')).toBe(false);
      }),
      { numRuns: tries(1000) },
    );
  });

  it('a script between two texts without markers is always found', () => {
    const prose = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replace(/[<`~>\\\t ]/g, '_'));
    fc.assert(
      fc.property(prose, prose, (before, after) => {
        const found = detectScripts(`${before}<tool-calls>\nreturn 1;\n</tool-calls>${after}`);
        expect(found.filter((segment) => segment.type === 'script')).toMatchObject([{ source: 'return 1;\n' }]);
      }),
      { numRuns: tries(1000) },
    );
  });
});

describe('linear work', () => {
  /** The average number of reads of each character. */
  function workOf(answer: string, deltaLength: number): number {
    const scanner = new AnswerScanner(new TagTable(['tool-calls']), true);
    for (let index = 0; index < answer.length; index += deltaLength)
      scanner.push(answer.slice(index, index + deltaLength));
    scanner.end();
    return 1 + scanner.rescanned / answer.length;
  }

  const runs = Array.from({ length: 32 }, (_, index) => '`'.repeat(index + 1));
  const HARD: [string, (count: number) => string][] = [
    ['blocks with a stray template', (count) => '<tool-calls>\na = `b\n</tool-calls>\n'.repeat(count)],
    ['blocks with a stray comment', (count) => '<tool-calls>\n/* b\n</tool-calls>\n'.repeat(count)],
    ['blocks whose templates nest deeper and deeper', (count) => '<tool-calls>\n`${`\n</tool-calls>\n'.repeat(count)],
    ['opening tags without a close', (count) => '<tool-calls>\n'.repeat(count)],
    ['two opening tags for each close', (count) => '<tool-calls>\n<tool-calls>\n</tool-calls>\n'.repeat(count)],
    ['fences with a stray comment', (count) => '```ts tool-calls\n/* b\n```\n'.repeat(count)],
    ['stray runs of every length before tags', (count) => `x ${runs.join(' <think>a</think> ')} `.repeat(count)],
    [
      'one paragraph of stray runs before many scripts',
      (count) => `${runs.join(' ')}${' <tool-calls>1</tool-calls>'.repeat(count)}`,
    ],
    ['paragraphs with a stray backtick and a tag', (count) => 'a ` b <think>c</think> d\n\n'.repeat(count)],
    ['unfinished tags', (count) => '<tool-calls lang="js"   '.repeat(count)],
    ['beginnings of fences', (count) => '```typescript tool-cal\n'.repeat(count)],
  ];

  it('the measure detects repeated work', () => {
    expect(workOf('<tool-calls>\n/* b\n</tool-calls>\n'.repeat(8), 1000)).toBeGreaterThan(4);
  });

  it.each(HARD)('%s: the work for each character does not grow with the answer', (_, make) => {
    for (const deltaLength of [7, 1000]) {
      const small = workOf(make(500), deltaLength);
      const large = workOf(make(4000), deltaLength);
      expect(large).toBeLessThan(16);
      expect(large).toBeLessThan(small * 1.2 + 0.5);
    }
  });

  it("after eight blocks without a close, the next ones end at their first closing tag at a line's start", () => {
    const stray = '<tool-calls>\n/*\n</tool-calls>\n';
    const template = '<tool-calls>\nf(`\n</tool-calls>\n`)\n</tool-calls>\n';
    const end = '<tool-calls>\n/*\n</tool-calls>\n';
    const typesAfter = (count: number) =>
      detectScripts(stray.repeat(count) + template + end)
        .filter((segment) => segment.type !== 'text')
        .slice(count)
        .map((segment) => segment.type);
    expect(typesAfter(7)).toEqual(['script', 'malformed']);
    expect(typesAfter(8)).toEqual(['malformed', 'malformed', 'malformed']);
  });
});
