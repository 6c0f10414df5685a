import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
beforeAll(async () => {
  realm = await openRealm();
});
afterAll(() => realm.close());

type Options = Intl.DateTimeFormatOptions;

// Node uses UTC in this test; the guest always does.
const format = ({ time, options }: { time: number; options: Options }) => {
  const formatter = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options });
  return [
    formatter.format(time),
    formatter.formatToParts(new Date(time)),
    new Date(time).toLocaleString('en-US', { timeZone: 'UTC', ...options }),
  ];
};

const time = fc.oneof(
  fc.integer({ min: Date.UTC(1900, 0), max: Date.UTC(2100, 0) }),
  fc.constantFrom(
    0,
    -1,
    Date.UTC(2024, 1, 29, 12),
    Date.UTC(2024, 11, 31, 23, 59, 59, 999),
    Date.UTC(2000, 0, 1),
    Date.UTC(2024, 5, 5, 9, 5, 7, 8),
  ),
);
const choose = <Value>(...values: Value[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const date: fc.Arbitrary<Options> = fc
  .record({
    weekday: choose('long', 'short', 'narrow'),
    year: choose('numeric', '2-digit'),
    month: choose('numeric', '2-digit', 'long', 'short'),
    day: choose('numeric', '2-digit'),
  })
  .map((given) => defined(given as Options))
  // Fields without the usual fields between them are not covered.
  .filter(({ year, month, day }) => month !== undefined || year === undefined || day === undefined);
const clock: fc.Arbitrary<Options> = fc.oneof(
  fc.constantFrom<Options>(
    {},
    { hour: 'numeric' },
    { hour: '2-digit' },
    { minute: '2-digit', second: '2-digit' },
    { hour: 'numeric', minute: '2-digit' },
    { hour: '2-digit', minute: '2-digit' },
    { hour: '2-digit', minute: '2-digit', second: '2-digit' },
    { hour: 'numeric', minute: 'numeric', second: 'numeric', fractionalSecondDigits: 3 },
    { minute: 'numeric' },
    { second: '2-digit' },
    { fractionalSecondDigits: 2 },
    { second: 'numeric', fractionalSecondDigits: 1 },
  ),
);
const cycle: fc.Arbitrary<Options> = fc.constantFrom<Options>(
  {},
  {},
  { hour12: true },
  { hourCycle: 'h23' },
  { hourCycle: 'h12' },
  { hourCycle: 'h11' },
  { timeZoneName: 'short' },
  { timeZoneName: 'long' },
);
const styles: fc.Arbitrary<Options> = fc
  .record({
    dateStyle: choose('full', 'long', 'medium', 'short'),
    timeStyle: choose('full', 'long', 'medium', 'short'),
    hourCycle: choose('h23', 'h12'),
  })
  .map((given) => defined(given as Options));

function defined(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

describe('dates in en-US', () => {
  it('are formatted as in Node without options', () => {
    fc.assert(
      fc.property(time, (given) =>
        expectNodesAnswer(
          realm,
          (moment) => {
            const day = new Date(moment);
            const utc = { timeZone: 'UTC' };
            return [
              day.toLocaleString(undefined, utc),
              day.toLocaleDateString('en-US', utc),
              day.toLocaleTimeString('en-US', utc),
              new Intl.DateTimeFormat('en-US', utc).format(day),
            ];
          },
          given,
        ),
      ),
      comparing(200),
    );
  });

  it('are formatted as in Node with any fields of date and time', () => {
    fc.assert(
      fc.property(time, date, clock, cycle, (moment, day, hour, how) => {
        const options = { ...day, ...hour, ...how };
        fc.pre(commonlyAsked(options));
        expectNodesAnswer(realm, format, { time: moment, options });
      }),
      comparing(600),
    );
  });

  it('are formatted as in Node in any style', () => {
    fc.assert(
      fc.property(time, styles, (moment, options) => expectNodesAnswer(realm, format, { time: moment, options })),
      comparing(200),
    );
  });

  it('show only the date or only the time if the method requires it', () => {
    fc.assert(
      fc.property(time, date, clock, (moment, day, hour) => {
        fc.pre(commonlyAsked({ ...day, hour: 'numeric' }) && commonlyAsked(day));
        expectNodesAnswer(
          realm,
          ({ moment, day, hour }) => [
            new Date(moment).toLocaleDateString('en-US', { timeZone: 'UTC', ...day }),
            new Date(moment).toLocaleTimeString('en-US', { timeZone: 'UTC', ...hour }),
          ],
          { moment, day, hour },
        );
      }),
      comparing(200),
    );
  });

  it('have eras, and years before the first', () => {
    expectNodesAnswer(
      realm,
      () =>
        [-62_198_755_200_000, -62_135_596_800_000, 0].map((moment) => [
          (['long', 'short', 'narrow'] as const).map((era) =>
            new Date(moment).toLocaleDateString('en-US', {
              year: 'numeric',
              month: 'long',
              day: 'numeric',
              era,
              timeZone: 'UTC',
            }),
          ),
          new Date(moment).toLocaleDateString('en-US', { timeZone: 'UTC' }),
        ]),
      null,
    );
  });

  it('show midnight as 00 on a 24-hour clock', () => {
    const outcome = realm.run(
      () => [
        new Date(0).toLocaleTimeString('en-US', { hour12: false }),
        new Date(0).toLocaleTimeString('en-US', { hourCycle: 'h24' }),
      ],
      null,
    );
    expect(outcome).toEqual({ value: ['00:00:00', '24:00:00'] });
  });

  it('are in UTC unless told otherwise', () => {
    const outcome = realm.run(
      () => [
        new Date(0).toLocaleString(),
        Intl.DateTimeFormat().resolvedOptions().timeZone,
        new Date(0).toLocaleString('en-US', { timeZone: 'Etc/GMT', timeZoneName: 'short' }),
      ],
      null,
    );
    expect(outcome).toEqual({ value: ['1/1/1970, 12:00:00 AM', 'UTC', '1/1/1970, 12:00:00 AM UTC'] });
  });

  it('are moved by a fixed offset', () => {
    const outcome = realm.run(
      (zones) =>
        zones.map((timeZone) => [
          new Date(Date.UTC(2024, 0, 1)).toLocaleString('en-US', { timeZone, timeStyle: 'short', dateStyle: 'short' }),
          new Date(0).toLocaleTimeString('en-US', { timeZone, hour: 'numeric', timeZoneName: 'short' }),
          new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone,
        ]),
      ['+05:30', '-0800', '+14', '-00:00'],
    );
    expect(outcome).toEqual({
      value: [
        ['1/1/24, 5:30 AM', '5 AM GMT+5:30', '+05:30'],
        ['12/31/23, 4:00 PM', '4 PM GMT-8', '-08:00'],
        ['1/1/24, 2:00 PM', '2 PM GMT+14', '+14:00'],
        ['1/1/24, 12:00 AM', '12 AM GMT', '+00:00'],
      ],
    });
  });

  it('are shown as Invalid Date if invalid, and rejected by a formatter', () => {
    expectNodesAnswer(
      realm,
      () => [
        new Date(NaN).toLocaleString(),
        new Date(NaN).toLocaleDateString('en-US'),
        new Date(NaN).toLocaleTimeString('en-US', { hour: 'numeric' }),
      ],
      null,
    );
    for (const given of ['NaN', 'Infinity', '8.64e15', '8.640000000000001e15']) {
      expectNodesAnswer(
        realm,
        (text) => new Intl.DateTimeFormat('en-US', { timeZone: 'UTC' }).format(Number(text)),
        given,
      );
    }
    expectNodesAnswer(realm, () => Date.prototype.toLocaleString.call({} as never), null);
  });
});

describe('Intl.DateTimeFormat', () => {
  it('rejects a named time zone with the alternatives', () => {
    for (const zone of ['America/New_York', 'Mars/Olympus', '+25:00', '+5', '']) {
      expect(realm.run((timeZone) => new Date(0).toLocaleString('en-US', { timeZone }), zone)).toEqual({
        error: 'RangeError',
        message: `The time zone "${zone}" is not available here: use "UTC" or a fixed offset such as "+05:30"`,
      });
    }
  });

  it('rejects invalid options, and styles combined with fields, like Node', () => {
    const cases = [
      { month: 'big' },
      { dateStyle: 'tiny' },
      { hour: 'short' },
      { fractionalSecondDigits: 4 },
      { hourCycle: 'h25' },
      { dateStyle: 'full', year: 'numeric' },
      { timeStyle: 'short', weekday: 'long' },
    ];
    for (const options of cases)
      expectNodesAnswer(realm, (given) => new Intl.DateTimeFormat('en-US', given as never), options);
    expectNodesAnswer(realm, () => new Date(0).toLocaleDateString('en-US', { timeStyle: 'short' }), null);
    expectNodesAnswer(realm, () => new Date(0).toLocaleTimeString('en-US', { dateStyle: 'short' }), null);
    expectNodesAnswer(realm, () => new Date(NaN).toLocaleString('en-US', null as never), null);
    expect(realm.run(() => new Date(0).toLocaleString('en-US', { dayPeriod: 'short' }), null)).toMatchObject({
      error: 'RangeError',
      message: expect.stringContaining('hour12') as string,
    });
  });

  it('works without new and as a bound function, and formats the current time by default', () => {
    expectNodesAnswer(
      realm,
      () => {
        const made = (Intl.DateTimeFormat as never as (locale: string, options: Options) => Intl.DateTimeFormat)(
          'en-US',
          { timeZone: 'UTC', year: 'numeric' },
        );
        const present = made.format();
        return [
          [0, 1e12].map(made.format),
          Math.abs(Number(present) - new Date().getUTCFullYear()) <= 1,
          made instanceof Intl.DateTimeFormat,
          String(made),
        ];
      },
      null,
    );
  });

  it('shows a range, and one date if both ends look the same', () => {
    expect(
      realm.run(() => {
        const formatter = new Intl.DateTimeFormat('en-US');
        return [formatter.formatRange(0, 864e5), formatter.formatRange(0, 1)];
      }, null),
    ).toEqual({ value: ['1/1/1970 – 1/2/1970', '1/1/1970'] });
  });
});

// Unusual combinations have special formats ('5 (second: 7)').
function commonlyAsked({
  weekday,
  year,
  month,
  day,
  hour,
  minute,
  second,
  fractionalSecondDigits,
  timeZoneName,
  hourCycle,
}: Options): boolean {
  const hasDate = (weekday ?? year ?? month ?? day) !== undefined;
  const hasTime = (hour ?? minute ?? second ?? fractionalSecondDigits) !== undefined;
  if (timeZoneName !== undefined && !hasTime && hasDate && month === 'long') return false;
  if (timeZoneName !== undefined && hasTime && hour === undefined) return false;
  if (weekday !== undefined && day === undefined && (year ?? month) !== undefined) return false;
  if (weekday !== undefined && hour !== undefined && minute === undefined && hourCycle === 'h23') return false;
  if (weekday !== undefined && month === undefined && day !== undefined && hasTime) return false;
  return true;
}
