import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
beforeAll(async () => {
  realm = await openRealm();
});
afterAll(() => realm.close());

type Options = Intl.NumberFormatOptions;
interface Case {
  value: number | string;
  options: Options;
}

// Numbers are passed as text, because JSON would lose -0, NaN and infinities.
const format = ({ value, options }: Case) => {
  const formatter = new Intl.NumberFormat('en-US', options);
  return [
    formatter.format(Number(value)),
    Number(value).toLocaleString('en-US', options),
    formatter.formatToParts(Number(value)),
  ];
};

const number = fc
  .oneof(
    fc.double(),
    fc.integer(),
    fc.double({ min: -1e7, max: 1e7 }).map((value) => Math.round(value * 1000) / 1000),
    fc.constantFrom(
      0,
      -0,
      1,
      -1,
      0.5,
      1.5,
      2.5,
      1.005,
      0.045,
      999,
      999.5,
      999.95,
      9999,
      9999.5,
      99999,
      999999,
      999999.5,
      1e15,
      1e16,
      1e21,
      1e-7,
      NaN,
      Infinity,
      -Infinity,
    ),
  )
  .map((value) => (Object.is(value, -0) ? '-0' : String(value)));

const currencies = [
  'USD',
  'EUR',
  'GBP',
  'JPY',
  'CHF',
  'INR',
  'CNY',
  'KRW',
  'BRL',
  'CAD',
  'AUD',
  'MXN',
  'SEK',
  'KWD',
  'usd',
];
const units = [
  'kilometer',
  'byte',
  'kilobyte',
  'celsius',
  'fahrenheit',
  'percent',
  'foot',
  'inch',
  'day',
  'hour',
  'month',
  'year',
  'second',
  'liter',
  'pound',
  'degree',
  'fluid-ounce',
  'kilometer-per-hour',
  'mile-per-gallon',
  'megabyte-per-second',
  'stone',
];
const style: fc.Arbitrary<Options> = fc.oneof(
  fc.constant({}),
  fc.constant({ style: 'percent' as const }),
  fc.record(
    {
      style: fc.constant('currency' as const),
      currency: fc.constantFrom(...currencies),
      currencyDisplay: fc.constantFrom('symbol' as const, 'narrowSymbol' as const, 'code' as const, 'name' as const),
      currencySign: fc.constantFrom('standard' as const, 'accounting' as const),
    },
    { requiredKeys: ['style', 'currency'] },
  ),
  fc.record(
    {
      style: fc.constant('unit' as const),
      unit: fc.constantFrom(...units),
      unitDisplay: fc.constantFrom('short' as const, 'narrow' as const, 'long' as const),
    },
    { requiredKeys: ['style', 'unit'] },
  ),
);
const digits: fc.Arbitrary<Options> = fc.record(
  {
    minimumIntegerDigits: fc.integer({ min: 0, max: 8 }),
    minimumFractionDigits: fc.integer({ min: 0, max: 6 }),
    maximumFractionDigits: fc.integer({ min: 0, max: 8 }),
    minimumSignificantDigits: fc.integer({ min: 0, max: 8 }),
    maximumSignificantDigits: fc.integer({ min: 1, max: 10 }),
  },
  { requiredKeys: [] },
);
const rest: fc.Arbitrary<Options> = fc.record(
  {
    useGrouping: fc.constantFrom(true, false, 'always', 'auto', 'min2', 'true' as never),
    signDisplay: fc.constantFrom('auto', 'always', 'never', 'exceptZero', 'negative'),
    notation: fc.constantFrom('standard', 'standard', 'compact', 'scientific', 'engineering'),
    compactDisplay: fc.constantFrom('short', 'long'),
    roundingMode: fc.constantFrom(
      'ceil',
      'floor',
      'expand',
      'trunc',
      'halfCeil',
      'halfFloor',
      'halfExpand',
      'halfTrunc',
      'halfEven',
    ),
    trailingZeroDisplay: fc.constantFrom('auto', 'stripIfInteger'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Options>;
// Node's releases disagree about the number of digits of money in other notations; the guest has names for only a few
// kinds of dinars.
const anyOptions = fc
  .tuple(style, fc.oneof(fc.constant({}), digits), fc.oneof(fc.constant({}), rest))
  .map(([kind, how, more]): Options => ({ ...kind, ...how, ...more }))
  .filter(agreed);

function agreed({ currency, currencyDisplay, notation, maximumFractionDigits }: Options): boolean {
  if (currency === undefined) return true;
  if (currency === 'KWD' && currencyDisplay === 'name') return false;
  return (
    notation === undefined || notation === 'standard' || (notation === 'compact' && maximumFractionDigits === undefined)
  );
}

describe('numbers in en-US', () => {
  it('are formatted as in Node without options', () => {
    fc.assert(
      fc.property(number, (value) =>
        expectNodesAnswer(
          realm,
          (given) => [Number(given).toLocaleString(), new Intl.NumberFormat().format(Number(given))],
          value,
        ),
      ),
      comparing(500),
    );
  });

  it('are formatted as in Node with any digits, rounding, grouping and sign', () => {
    fc.assert(
      fc.property(number, digits, fc.oneof(fc.constant({}), rest), (value, how, more) =>
        expectNodesAnswer(realm, format, { value, options: { ...more, ...how, notation: 'standard' } }),
      ),
      comparing(500),
    );
  });

  it('are formatted as in Node in any style and notation', () => {
    fc.assert(
      fc.property(number, anyOptions, (value, options) => expectNodesAnswer(realm, format, { value, options })),
      comparing(500),
    );
  });

  it('resolve their options as Node does', () => {
    fc.assert(
      fc.property(style, digits, (kind, how) =>
        expectNodesAnswer(realm, (options) => new Intl.NumberFormat('en-US', options).resolvedOptions(), {
          ...kind,
          ...how,
        }),
      ),
      comparing(200),
    );
  });

  it('have no default fraction in compact notation', () => {
    const options: Options = { style: 'currency', currency: 'USD', notation: 'compact', maximumFractionDigits: 1 };
    expect(
      realm.run((given) => [1e6, 1_250_000].map((value) => value.toLocaleString('en-US', given)), options),
    ).toEqual({ value: ['$1M', '$1.3M'] });
  });

  it('are exact if they are BigInts or strings', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.nat(8), (value, places) =>
        expectNodesAnswer(
          realm,
          ({ text, places }) => [
            BigInt(text).toLocaleString(),
            BigInt(text).toLocaleString('en-US', { style: 'currency', currency: 'USD' }),
            new Intl.NumberFormat('en-US', { maximumFractionDigits: places }).format(`${text}.123456789` as never),
            new Intl.NumberFormat().format(BigInt(text)),
          ],
          { text: String(value), places },
        ),
      ),
      comparing(200),
    );
  });

  it('are converted from any argument as in Node', () => {
    expectNodesAnswer(
      realm,
      () => {
        const formatter = new Intl.NumberFormat('en-US');
        const given: unknown[] = [
          '12345.678',
          ' 1e3 ',
          '0x10',
          '',
          'abc',
          null,
          undefined,
          true,
          [5],
          new Date(5),
          {},
          { valueOf: () => 7 },
          '-0',
          '.5',
          '5.',
          '-.5e1',
          '123456789012345678901234567890.5',
        ];
        return given.map((value) => formatter.format(value as never));
      },
      null,
    );
    expectNodesAnswer(realm, () => new Intl.NumberFormat().format(Symbol('s') as never), null);
    expectNodesAnswer(realm, () => Number.prototype.toLocaleString.call('5' as never), null);
  });

  it('include the names of common currencies', () => {
    expectNodesAnswer(
      realm,
      (codes) =>
        codes.flatMap((currency) =>
          [1, 5.5].map((value) =>
            new Intl.NumberFormat('en-US', { style: 'currency', currency, currencyDisplay: 'name' }).format(value),
          ),
        ),
      currencies.filter((code) => code !== 'KWD'),
    );
  });

  it('support every unit in every width', () => {
    const all = Intl.supportedValuesOf('unit');
    expectNodesAnswer(
      realm,
      (names) =>
        names.map((unit) =>
          (['short', 'narrow', 'long'] as const).map((unitDisplay) =>
            [1, 2].map((value) => new Intl.NumberFormat('en-US', { style: 'unit', unit, unitDisplay }).format(value)),
          ),
        ),
      all,
    );
  });
});

const construct = (options: Options) => new Intl.NumberFormat('en-US', options);

describe('Intl.NumberFormat', () => {
  it.each<[string, Options, string, RegExp]>([
    ['a style that is none', { style: 'fancy' as never }, 'RangeError', /style: use decimal, percent, currency, unit/],
    ['a currency that is not named', { style: 'currency' }, 'TypeError', /currency/],
    ['a currency that is none', { style: 'currency', currency: 'dollars' }, 'RangeError', /currency code/],
    ['a unit that is none', { style: 'unit', unit: 'parsec' }, 'RangeError', /unit/],
    ['too many digits', { maximumFractionDigits: 101 }, 'RangeError', /maximumFractionDigits.*from 0 to 100/],
    [
      'fewer digits at most than at least',
      { minimumFractionDigits: 5, maximumFractionDigits: 2 },
      'RangeError',
      /maximumFractionDigits value is out of range/,
    ],
    ['options that are null', null as never, 'TypeError', /object/],
  ])('refuses %s in one sentence, as Node does', (_, options, error, message) => {
    expectNodesAnswer(realm, construct, options);
    expect(realm.run(construct, options)).toEqual({ error, message: expect.stringMatching(message) as string });
  });

  it('works without new, as a bound function and as a base class', () => {
    expectNodesAnswer(
      realm,
      () => {
        class Own extends Intl.NumberFormat {}
        const made = (Intl.NumberFormat as never as (locale: string) => Intl.NumberFormat)('en-US');
        return [
          [1000, 2000].map(made.format),
          made instanceof Intl.NumberFormat,
          made.constructor === Intl.NumberFormat,
          new Own().format(1e3),
          new Own() instanceof Own,
          made.format === made.format,
          String(made),
          Intl.NumberFormat.name,
          String(Intl),
          Intl.NumberFormat.supportedLocalesOf(['en-US', 'en']),
        ];
      },
      null,
    );
  });

  it('uses en-US for other locales and rejects text that is not a locale', () => {
    const outcome = realm.run(
      () =>
        ['de-DE', 'en', 'en-GB', ['fr', 'en'], [], undefined].map((locale) => [
          new Intl.NumberFormat(locale).format(1234.5),
          new Intl.NumberFormat(locale).resolvedOptions().locale,
        ]),
      null,
    );
    expect(outcome).toEqual({ value: Array.from({ length: 6 }, () => ['1,234.5', 'en-US']) });
    for (const locale of ['not a locale', 'e', 'en_US', null, [null], [1]]) {
      expectNodesAnswer(realm, (given) => (1).toLocaleString(given as never), locale);
    }
  });
});

describe('lists', () => {
  it('format each member in the locale, and missing ones as empty text', () => {
    expectNodesAnswer(
      realm,
      () => [
        [1234.5, null, undefined, 'a', [1e6]].toLocaleString(),
        [0.5, 2].toLocaleString('en-US', { style: 'percent' }),
        new Float64Array([1234.5, 2]).toLocaleString(),
        [].toLocaleString(),
        [1234n].toLocaleString(),
      ],
      null,
    );
  });
});
