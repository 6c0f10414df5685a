import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TEST_LIMITS } from '#core/testing/drive-run.js';
import { frameSegment, GuestBreach, readFrame, readOutbox } from '#core/sandbox/quickjs/outbox.js';
import { tries } from '@toolscript/testkit/some-cases';

const said = (members: object, args = '', mark = ':') => `${mark}${JSON.stringify(members)}\n${args}`;
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe("a message of the guest's", () => {
  it('is read as its bridge writes it', () => {
    const text = said(
      {
        calls: [
          ['add', 7],
          ['$sleep', 0, 'args: a BigInt'],
        ],
        logs: [['warn', 'x']],
        output: 'y',
      },
      '{"a":1}',
    );
    expect(readOutbox(text, 2, TEST_LIMITS)).toMatchObject({
      calls: [
        { name: 'add', argsJson: '{"a":1}' },
        { name: '$sleep', argsJson: '', argsProblem: 'args: a BigInt' },
      ],
      logs: [{ level: 'warn', text: 'x' }],
      output: 'y',
      end: undefined,
    });
    expect(readOutbox(said({ end: ['returned', '1'] }, '', '!'), 0, TEST_LIMITS).end).toMatchObject({ json: '1' });
  });

  it.each<[string, string, number?]>([
    ['no mark', '{"end":["returned"]}\n'],
    ['no JSON', ':{\n'],
    ['no line', ':{}'],
    ['an unknown member', said({ approve: true })],
    ['a list in place of a record', ':[]\n'],
    ['a call that was not made', said({ calls: [['add', 2]] }, '{}'), 0],
    ['a call too few', said({ calls: [['add', 2]] }, '{}'), 2],
    ['nothing about a call that was made', '', 1],
    ['a place of its own for a call', said({ calls: [['add', 2, undefined, 3, 4]] }, '{}'), 1],
    ['a name that is no text', said({ calls: [[7, 2]] }, '{}'), 1],
    ['a name without end', said({ calls: [['x'.repeat(1_000), 2]] }, '{}'), 1],
    ['a length below zero', said({ calls: [['add', -1]] }, '{}'), 1],
    ['a length beyond the text', said({ calls: [['add', 99]] }, '{}'), 1],
    ['a length of 10⁷', said({ calls: [['add', 10_000_000]] }, '{}'), 1],
    [
      'arguments that are longer than may cross',
      said({ calls: [['add', TEST_LIMITS.maxToolInputBytes + 1]] }, 'x'.repeat(TEST_LIMITS.maxToolInputBytes + 1)),
      1,
    ],
    ['arguments without a call', said({ calls: [['add', 1]] }, '{}'), 1],
    ['an end under the mark of a script that goes on', said({ end: ['returned', '1'] })],
    ['the mark of an end without one', said({}, '', '!')],
    ['an unknown end', said({ end: ['approved'] }, '', '!')],
    ['a value that is no JSON', said({ end: ['returned', '{'] }, '', '!')],
    ['a value of 9 MB', said({ end: ['returned', `"${'x'.repeat(9 << 20)}"`] }, '', '!')],
    ['a value over its bytes, not its characters', said({ end: ['returned', `"${'ä'.repeat(70_000)}"`] }, '', '!')],
    ['a value nested 60 000 deep', said({ end: ['returned', nested(60_000)] }, '', '!')],
    ['a value nested one too deep', said({ end: ['returned', nested(101)] }, '', '!')],
    ['a throw without a message', said({ end: ['threw', { name: 'E', stack: '' }] }, '', '!')],
    [
      'a throw of a call below zero',
      said({ end: ['threw', { name: '', message: '', stack: '', callIndex: -1 }] }, '', '!'),
    ],
    ['a head of 1 MB', said({ end: ['return_too_large', 1, 'x'.repeat(1 << 20), []] }, '', '!')],
    ['more largest keys than three', said({ end: ['return_too_large', 1, '', ['a', 'b', 'c', 'd']] }, '', '!')],
    ['an output of 9 MB', said({ output: 'x'.repeat(9 << 20) })],
    ['a console line of 1 MB', said({ logs: [['log', 'x'.repeat(1 << 20)]] })],
    ['a console level of its own', said({ logs: [['fatal', 'x']] })],
    ['more console lines than there may be', said({ logs: Array.from({ length: 201 }, () => ['log', '']) })],
    ['progress of another kind', said({ progress: [['x', 'error']] })],
    ['a count that is none', said({ dropped: [1.5, 0] })],
  ])('is refused: %s', (_name, text, callsMade = 0) => {
    expect(() => readOutbox(text, callsMade, TEST_LIMITS)).toThrow(GuestBreach);
  });

  it('is read or rejected as a breach, whatever its content', () => {
    const anything = fc.oneof(
      fc.string(),
      fc.json().map((json) => `:${json}\n`),
      fc
        .record(
          {
            calls: fc.anything(),
            logs: fc.anything(),
            progress: fc.anything(),
            output: fc.anything(),
            dropped: fc.anything(),
            end: fc.anything(),
          },
          { requiredKeys: [] },
        )
        .map((members) => {
          try {
            return said(members, '', 'end' in members ? '!' : ':');
          } catch {
            return '';
          }
        }),
    );
    fc.assert(
      fc.property(anything, fc.nat({ max: 3 }), (text, callsMade) => {
        try {
          readOutbox(text, callsMade, TEST_LIMITS);
        } catch (error) {
          expect(error).toBeInstanceOf(GuestBreach);
        }
      }),
      { numRuns: tries(2_000) },
    );
  });
});

describe("a segment's frame", () => {
  it('returns the places and the text that were written into it', () => {
    const place = fc.record({ line: fc.nat(), column: fc.nat() });
    const guestText = fc.tuple(fc.constantFrom(':', '!'), fc.string()).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.nat(), fc.array(place), guestText, (firstCall, places, text) => {
        expect(readFrame(frameSegment(firstCall, places, text))).toEqual({ firstCall, places, text });
      }),
    );
  });
});
