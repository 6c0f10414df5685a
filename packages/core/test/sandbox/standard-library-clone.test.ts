import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
beforeAll(async () => {
  realm = await openRealm();
});
afterAll(() => realm.close());

describe('structuredClone', () => {
  it('copies any plain data without sharing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (data) => {
        expectNodesAnswer(realm, (given) => structuredClone(given), data);
        const shared = realm.run((given) => {
          const objects = (value: unknown): unknown[] =>
            typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(objects)] : [];
          const copies = new Set(objects(structuredClone(given)));
          return objects(given).filter((value) => copies.has(value)).length;
        }, data);
        expect(shared).toEqual({ value: 0 });
      }),
      comparing(200),
    );
  });

  it('keeps cycles and shared objects', () => {
    expectNodesAnswer(
      realm,
      () => {
        const shared = { name: 'shared' };
        const whole: Record<string, unknown> = { first: shared, second: shared, list: [shared] };
        whole['self'] = whole;
        whole['map'] = new Map<unknown, unknown>([[whole, shared]]);
        whole['set'] = new Set([whole]);
        const copy = structuredClone(whole) as Record<string, unknown> & {
          map: Map<unknown, unknown>;
          set: Set<unknown>;
          list: unknown[];
        };
        return [
          copy !== whole,
          copy['self'] === copy,
          copy['first'] === copy['second'],
          copy.list[0] === copy['first'],
          copy.map.get(copy) === copy['first'],
          copy.set.has(copy),
          copy['first'] !== shared,
        ];
      },
      null,
    );
  });

  it('copies maps, sets, dates, expressions, boxes, BigInts and holes', () => {
    expectNodesAnswer(
      realm,
      () => {
        const map = structuredClone(
          new Map<unknown, unknown>([
            ['a', new Set([1, [2]])],
            [NaN, new Map()],
          ]),
        );
        const date = structuredClone(new Date(86_400_000));
        const expression = /a\/b/giu;
        expression.lastIndex = 3;
        const copied = structuredClone(expression);
        // eslint-disable-next-line no-sparse-arrays
        const holes = structuredClone(Object.assign([1, , undefined, 4, ,], { extra: true }));
        const boxes = [new Number(-0), new String('text'), new Boolean(false), Object(7n)].map((box) =>
          structuredClone(box),
        );
        return [
          map instanceof Map,
          [...(map.get('a') as Set<unknown>)],
          [...map.keys()].length,
          map.has(NaN),
          date instanceof Date,
          date.toISOString(),
          Number.isNaN(structuredClone(new Date(NaN)).getTime()),
          String(copied),
          copied.lastIndex,
          copied instanceof RegExp,
          holes.length,
          Object.keys(holes),
          1 in holes,
          2 in holes,
          boxes.map((box) => [typeof box, Object.prototype.toString.call(box), String(box)]),
          Object.is(boxes[0].valueOf(), -0),
          [undefined, null, 1, 'a', true, NaN, -0].map((value) => Object.is(structuredClone(value), value)),
          String(structuredClone(7n)),
        ];
      },
      null,
    );
  });

  it('copies buffers once, and every view at its offset', () => {
    expectNodesAnswer(
      realm,
      () => {
        const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]).buffer;
        const views = {
          buffer,
          bytes: new Uint8Array(buffer, 2, 3),
          view: new DataView(buffer, 4, 4),
          floats: new Float64Array(buffer),
          signed: new Int16Array(buffer, 2),
          big: new BigInt64Array(buffer, 8),
          clamped: new Uint8ClampedArray(4),
        };
        const copy = structuredClone(views);
        copy.bytes[0] = 99;
        return [
          copy.bytes.buffer === copy.buffer,
          copy.view.buffer === copy.buffer,
          copy.buffer !== buffer,
          new Uint8Array(buffer)[2],
          [...new Uint8Array(copy.buffer)],
          [...copy.bytes],
          copy.view.getUint8(0),
          copy.view.byteLength,
          copy.floats.length,
          [...copy.signed],
          String(copy.big[0]),
          Object.values(copy).map((value) => Object.prototype.toString.call(value)),
          copy.bytes.byteOffset,
        ];
      },
      null,
    );
  });

  it('copies errors with their name, message and cause, and nothing else', () => {
    expectNodesAnswer(
      realm,
      () => {
        class Own extends Error {
          override name = 'Own';
          extra = 1;
        }
        const errors = [
          new Error('a'),
          new TypeError('b'),
          new RangeError(''),
          new SyntaxError('c'),
          new Own('d'),
          Object.assign(new Error('e'), { code: 1 }),
          new Error(),
        ];
        return errors.map((error) => {
          const copy = structuredClone(error);
          return [
            copy.name,
            copy.message,
            Object.hasOwn(copy, 'message'),
            Object.prototype.toString.call(copy),
            copy.constructor.name,
            Object.keys(copy),
            copy.stack === error.stack,
          ];
        });
      },
      null,
    );
    expect(
      realm.run(
        () => (structuredClone(new Error('a', { cause: { list: [1] } })).cause as { list: number[] }).list,
        null,
      ),
    ).toEqual({ value: [1] });
  });

  it('converts instances to plain objects, calls getters, and omits symbols and hidden properties', () => {
    expectNodesAnswer(
      realm,
      () => {
        class Point {
          x = 1;
          #y = 2;
          get sum() {
            return this.x + this.#y;
          }
        }
        const given = Object.defineProperty(
          {
            get now() {
              return 5;
            },
            [Symbol('s')]: 1,
            point: new Point(),
            none: Object.assign(Object.create(null), { a: 1 }),
          },
          'hidden',
          { value: 1 },
        );
        const copy = structuredClone(given);
        return [
          copy,
          Object.getPrototypeOf(copy.point) === Object.prototype,
          Object.getOwnPropertyDescriptor(copy, 'now'),
          Object.getPrototypeOf(copy.none) === Object.prototype,
          Reflect.ownKeys(copy).length,
        ];
      },
      null,
    );
  });

  it('copies keys with the names of prototype members as plain data', () => {
    expectNodesAnswer(
      realm,
      (text) => {
        const copy = structuredClone(JSON.parse(text));
        return [JSON.stringify(copy), Object.keys(copy), Object.getPrototypeOf(copy) === Object.prototype];
      },
      '{"__proto__":{"a":1},"constructor":2,"toString":3,"hasOwnProperty":[4]}',
    );
  });

  it('makes frozen data mutable again', () => {
    expect(
      realm.run(() => {
        const copy = structuredClone(Object.freeze({ list: Object.freeze([1]) })) as { list: number[]; more?: string };
        copy.list.push(2);
        copy.more = 'yes';
        return copy;
      }, null),
    ).toEqual({ value: { list: [1, 2], more: 'yes' } });
  });

  it('rejects values that cannot be copied with a DataCloneError', () => {
    const outcome = realm.run(() => {
      const refused: unknown[] = [
        () => 1,
        Symbol('s'),
        Object(Symbol('s')),
        Promise.resolve(),
        new WeakMap(),
        new WeakSet(),
        new WeakRef({}),
        (function* () {})(),
        [].values(),
        new Map().keys(),
        new URL('http://a'),
        new URLSearchParams(),
        new TextDecoder(),
      ];
      return refused
        .flatMap((value) => [value, [value], { deep: { value } }, new Map([[1, value]]), new Set([value])])
        .map((value) => {
          try {
            return (structuredClone(value), 'copied');
          } catch (error) {
            return `${error instanceof Error} ${(error as Error).name} ${error instanceof DOMException}`;
          }
        });
    }, null) as { value: string[] };
    expect(outcome.value).toHaveLength(65);
    expect(new Set(outcome.value)).toEqual(new Set(['true DataCloneError true']));
    expectNodesAnswer(
      realm,
      () => {
        try {
          structuredClone({ a: () => 1 });
        } catch (error) {
          return (error as Error).message;
        }
        return 'copied';
      },
      null,
    );
    expect(realm.run(() => structuredClone(Promise.resolve()), null)).toEqual({
      error: 'DataCloneError',
      message: '#<Promise> could not be cloned.',
    });
  });

  it('requires a value, and rejects a transfer', () => {
    expectNodesAnswer(realm, () => (structuredClone as () => unknown)(), null);
    expectNodesAnswer(realm, () => [structuredClone(1, undefined), structuredClone(1, { transfer: [] })], null);
    const outcome = realm.run(() => {
      const buffer = new ArrayBuffer(1);
      return structuredClone(buffer, { transfer: [buffer] });
    }, null);
    expect(outcome).toMatchObject({ error: 'DataCloneError', message: expect.stringContaining('transfer') as string });
  });

  it('ends with an error that can be caught when data is nested too deeply', () => {
    const outcome = realm.run(() => {
      let value: unknown = 1;
      for (let depth = 0; depth < 200_000; depth++) value = [value];
      try {
        structuredClone(value);
      } catch (error) {
        return error instanceof RangeError || (error as Error).name === 'InternalError';
      }
      return true;
    }, null);
    expect(outcome).toEqual({ value: true });
  });

  it('detects kinds of objects by internal slots, not by properties', () => {
    expectNodesAnswer(
      realm,
      () => {
        const liar = { [Symbol.toStringTag]: 'Map', size: 3, source: 'a', flags: 'g' };
        const map = new Map([[1, 2]]);
        for (const key of ['forEach', 'entries', 'size', Symbol.iterator])
          Object.defineProperty(map, key, { value: () => 'mine' });
        const copy = structuredClone(map);
        return [
          structuredClone(liar),
          structuredClone(liar) instanceof Map,
          Map.prototype.get.call(copy, 1),
          Object.keys(copy),
        ];
      },
      null,
    );
  });
});
