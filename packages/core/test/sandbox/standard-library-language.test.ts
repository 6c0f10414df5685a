import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
beforeAll(async () => {
  realm = await openRealm();
});
afterAll(() => realm.close());

const letter = fc.oneof(
  fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)),
  fc.constantFrom(...'aAbBzZ019 -_.é'.split(''), ...'éÉèêëàâäåãçîïñóôöúüÿ'.split('')),
);
const word = fc.array(letter, { maxLength: 8 }).map((letters) => letters.join(''));
const related = fc
  .tuple(word, word, word, word)
  .map(([start, first, second, end]) => [start + first + end, start + second + end] as [string, string]);
const options: fc.Arbitrary<Intl.CollatorOptions> = fc.record(
  {
    numeric: fc.boolean(),
    sensitivity: fc.constantFrom('base' as const, 'accent' as const, 'case' as const, 'variant' as const),
    caseFirst: fc.constantFrom('upper' as const, 'lower' as const, 'false' as const),
  },
  { requiredKeys: [] },
);

describe('text in order', () => {
  it('is compared as in Node', () => {
    fc.assert(
      fc.property(related, fc.oneof(fc.constant({}), options), (pair, how) =>
        expectNodesAnswer(
          realm,
          ({ pair: [first, second], how }) => [
            first.localeCompare(second, 'en-US', how),
            new Intl.Collator('en-US', how).compare(second, first),
            first.localeCompare(second),
          ],
          { pair, how },
        ),
      ),
      comparing(1000),
    );
  });

  it('is sorted as in Node', () => {
    expectNodesAnswer(
      realm,
      (words) => [
        [...words].sort((first, second) => first.localeCompare(second)),
        [...words].sort(new Intl.Collator('en', { numeric: true }).compare),
        [...words].sort(Intl.Collator('en', { sensitivity: 'base' }).compare),
      ],
      [
        'banana',
        'Apple',
        'cherry',
        'apple',
        'Éclair',
        'eclair',
        'zebra',
        'file10',
        'file2',
        'file1',
        'file02',
        'résumé',
        'resume',
        'Resume',
        '',
        ' space',
        '_under',
        '-dash',
        '10',
        '9',
        'straße',
        'strasse',
        'Æsir',
        'naïve',
        'a b',
        'a-b',
        'ab',
        'aB',
        'Ab',
      ],
    );
  });

  it('sorts other scripts after Latin, and equal text together', () => {
    expectNodesAnswer(
      realm,
      () => [
        'a'.localeCompare('б'),
        'б'.localeCompare('В'),
        'z'.localeCompare('α'),
        '日'.localeCompare('a'),
        'e\u0301'.localeCompare('\u00e9'),
        'a\u0000'.localeCompare('a'),
        '😀'.localeCompare('a'),
        ''.localeCompare('a'),
      ],
      null,
    );
  });

  it('ignores punctuation on request', () => {
    expectNodesAnswer(
      realm,
      () => [
        'a-b'.localeCompare('ab', 'en', { ignorePunctuation: true }),
        'a b'.localeCompare('ac', 'en', { ignorePunctuation: true }),
        'a+b'.localeCompare('ab', 'en', { ignorePunctuation: true }),
      ],
      null,
    );
  });

  it('compares its arguments as strings, and rejects those that have no string', () => {
    expectNodesAnswer(
      realm,
      () => [
        'undefined'.localeCompare(undefined as never),
        '5'.localeCompare(5 as never),
        new Intl.Collator().compare(10 as never, 9 as never),
      ],
      null,
    );
    expectNodesAnswer(realm, () => String.prototype.localeCompare.call(null as never, 'a'), null);
    expectNodesAnswer(realm, () => 'a'.localeCompare('b', 'en', { sensitivity: 'most' as never }), null);
    expectNodesAnswer(realm, () => 'a'.localeCompare('b', 'no_locale'), null);
  });

  it('compares long text and long digits fast', () => {
    const outcome = realm.run(() => {
      const [nines, zeros] = ['9'.repeat(50_000), '0'.repeat(50_000)];
      return [
        `${nines}a`.localeCompare(`${nines}b`, 'en', { numeric: true }),
        `${zeros}1`.localeCompare('1', 'en', { numeric: true }),
        `1${zeros}`.localeCompare(nines, 'en', { numeric: true }),
      ];
    }, null);
    expect(outcome).toEqual({ value: [-1, 0, 1] });
  });
});

describe('plurals', () => {
  it('are selected as in Node', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.integer({ min: -130, max: 1200 }),
          fc.double({ min: -1e6, max: 1e6, noNaN: true }),
          fc.constantFrom(1.5, 1, 0, 11, 111),
        ),
        fc.constantFrom<Intl.PluralRulesOptions>(
          {},
          { type: 'ordinal' },
          { minimumFractionDigits: 1 },
          { maximumFractionDigits: 0 },
        ),
        (value, how) =>
          expectNodesAnswer(realm, (given) => new Intl.PluralRules('en-US', given.how).select(given.value), {
            value,
            how,
          }),
      ),
      comparing(200),
    );
    expectNodesAnswer(realm, () => (Intl.PluralRules as never as () => void)(), null);
  });
});

describe('lists of words', () => {
  it('are joined as in Node, in every type and style', () => {
    expectNodesAnswer(
      realm,
      () =>
        (['conjunction', 'disjunction', 'unit'] as const).flatMap((type) =>
          (['long', 'short', 'narrow'] as const).map((style) => {
            const list = new Intl.ListFormat('en-US', { type, style });
            return [[], ['a'], ['a', 'b'], ['a', 'b', 'c'], new Set(['w', 'x', 'y', 'z'])].map((words) => [
              list.format(words),
              list.formatToParts(words),
            ]);
          }),
        ),
      null,
    );
    expectNodesAnswer(realm, () => new Intl.ListFormat('en').format([1] as never), null);
    expectNodesAnswer(realm, () => new Intl.ListFormat('en', { style: 'wide' as never }), null);
  });
});

describe('relative times', () => {
  it('are formatted as in Node, in every style and unit', () => {
    expectNodesAnswer(
      realm,
      () =>
        (['long', 'short', 'narrow'] as const).flatMap((style) =>
          (['always', 'auto'] as const).flatMap((numeric) => {
            const relative = new Intl.RelativeTimeFormat('en-US', { style, numeric });
            return (['second', 'minutes', 'hour', 'days', 'week', 'month', 'quarters', 'year'] as const).map((unit) =>
              [-1234.5, -2, -1, -0, 0, 1, 1.5, 10].map((value) => [
                relative.format(value, unit),
                style === 'long' ? relative.formatToParts(value, unit) : 0,
              ]),
            );
          }),
        ),
      null,
    );
  });

  it('reject other units and numbers that are not finite, as in Node', () => {
    for (const unit of ['fortnight', 'dayss', '', 'toString'])
      expectNodesAnswer(realm, (given) => new Intl.RelativeTimeFormat('en').format(1, given as never), unit);
    expectNodesAnswer(realm, () => new Intl.RelativeTimeFormat('en').format(Infinity, 'day'), null);
    expectNodesAnswer(realm, () => new Intl.RelativeTimeFormat('en').format(NaN, 'day'), null);
  });
});

describe('Intl', () => {
  it('has exactly these members', () => {
    const outcome = realm.run(
      () => [Object.getOwnPropertyNames(Intl).sort(), Object.keys(Intl), 'guest' in globalThis],
      null,
    );
    expect(outcome).toEqual({
      value: [
        [
          'Collator',
          'DateTimeFormat',
          'ListFormat',
          'NumberFormat',
          'PluralRules',
          'RelativeTimeFormat',
          'getCanonicalLocales',
        ],
        [],
        false,
      ],
    });
  });
});
