import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
beforeAll(async () => {
  realm = await openRealm();
});
afterAll(() => realm.close());

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
);
// Bytes near the special cases of UTF-8 and UTF-16.
const byte = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.constantFrom(
    0x41,
    0x80,
    0xbf,
    0xc2,
    0xe0,
    0xa0,
    0xed,
    0x9f,
    0xef,
    0xbb,
    0xbf,
    0xf0,
    0x90,
    0xf4,
    0x8f,
    0xd8,
    0xdc,
    0xfe,
    0xff,
  ),
);
const bytes = fc.oneof(
  fc.array(byte, { maxLength: 24 }),
  anyText.map((text) => [...new TextEncoder().encode(text)]),
);

describe('TextEncoder', () => {
  it('returns the same bytes as Node for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => expectNodesAnswer(realm, (given) => [...new TextEncoder().encode(given)], text)),
      comparing(300),
    );
  });

  it('writes only complete characters into the available room', () => {
    fc.assert(
      fc.property(anyText, fc.nat(20), (text, room) =>
        expectNodesAnswer(
          realm,
          ({ text, room }) => {
            const target = new Uint8Array(room);
            const { read, written } = new TextEncoder().encodeInto(text, target);
            return [read, written, ...target];
          },
          { text, room },
        ),
      ),
      comparing(300),
    );
  });

  it('encodes an absent argument as no bytes', () => {
    expectNodesAnswer(
      realm,
      () => [new TextEncoder().encode().length, new TextEncoder().encode(undefined).length, new TextEncoder().encoding],
      null,
    );
  });

  it('encodes only into a Uint8Array', () => {
    expect(realm.run(() => new TextEncoder().encodeInto('a', [] as never), null)).toMatchObject({ error: 'TypeError' });
  });
});

describe('TextDecoder', () => {
  it.each(['utf-8', 'utf-16le'])('returns the same text as Node for any %s bytes, or throws like Node', (label) => {
    fc.assert(
      fc.property(bytes, fc.boolean(), fc.boolean(), (data, fatal, ignoreBOM) => {
        if (label === 'utf-16le' && data.length % 2 === 1) data.pop();
        expectNodesAnswer(
          realm,
          ({ label, data, fatal, ignoreBOM }) =>
            new TextDecoder(label, { fatal, ignoreBOM }).decode(new Uint8Array(data)),
          { label, data, fatal, ignoreBOM },
        );
      }),
      comparing(600),
    );
  });

  it.each(['utf-8', 'utf-16le'])('returns the same text for one input and for chunks of a %s stream', (label) => {
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(6), { maxLength: 8 }), fc.boolean(), (data, cuts, ignoreBOM) => {
        const outcome = realm.run(
          ({ label, data, cuts, ignoreBOM }) => {
            const decoder = new TextDecoder(label, { ignoreBOM });
            let at = 0;
            let text = '';
            for (const cut of cuts)
              text += decoder.decode(new Uint8Array(data.slice(at, (at += cut))), { stream: true });
            text += decoder.decode(new Uint8Array(data.slice(at)));
            return text === new TextDecoder(label, { ignoreBOM }).decode(new Uint8Array(data)) ? 'same' : text;
          },
          { label, data, cuts, ignoreBOM },
        );
        expect(outcome).toEqual({ value: 'same' });
      }),
      comparing(300),
    );
  });

  it('emits each chunk of a UTF-8 stream like Node', () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 5 }), (chunks) =>
        expectNodesAnswer(
          realm,
          (given) => {
            const decoder = new TextDecoder();
            return [...given.map((chunk) => decoder.decode(new Uint8Array(chunk), { stream: true })), decoder.decode()];
          },
          chunks,
        ),
      ),
      comparing(300),
    );
  });

  it('reads every byte of windows-1252 as the Encoding standard requires', () => {
    const all = realm.run(
      () => new TextDecoder('latin1').decode(Uint8Array.from({ length: 256 }, (_, at) => at)),
      null,
    ) as { value: string };
    expect(all.value.slice(0x7e, 0x84)).toBe('~\x7f\u20ac\x81\u201a\u0192');
    expect(all.value.slice(0xa0)).toBe(String.fromCharCode(...Array.from({ length: 96 }, (_, at) => 160 + at)));
    expect(all.value).toHaveLength(256);
  });

  it('supports the usual labels, and names the alternatives for others', () => {
    for (const label of ['UTF-8', ' utf8 ', 'unicode-1-1-utf-8', 'utf-16', 'UTF-16LE', 'latin1', 'ascii']) {
      expectNodesAnswer(realm, (given) => new TextDecoder(given).encoding, label);
    }
    for (const label of ['shift_jis', '', 'utf-8 utf8', 'nonsense']) {
      expect(realm.run((given) => new TextDecoder(given), label)).toEqual({
        error: 'RangeError',
        message: `The encoding "${label}" is not available: use utf-8, utf-16le, utf-16be or latin1`,
      });
    }
  });

  it('reads views at their offset, and rejects values without bytes', () => {
    expectNodesAnswer(
      realm,
      () => {
        const buffer = new Uint8Array([65, 66, 67, 68]).buffer;
        return [
          new TextDecoder().decode(new DataView(buffer, 1, 2)),
          new TextDecoder().decode(new Uint8Array(buffer, 2)),
          new TextDecoder().decode(buffer),
          new TextDecoder().decode(),
        ];
      },
      null,
    );
    expectNodesAnswer(realm, () => new TextDecoder().decode('text' as never), null);
  });

  it('resets its state after a fatal error', () => {
    expect(
      realm.run(() => {
        const decoder = new TextDecoder('utf-8', { fatal: true });
        decoder.decode(new Uint8Array([0xe2]), { stream: true });
        try {
          decoder.decode(new Uint8Array([0x41]));
        } catch {
          return decoder.decode(new Uint8Array([0x42]));
        }
        return 'no error';
      }, null),
    ).toEqual({ value: 'B' });
  });
});

describe('base64', () => {
  it('equals Node’s for any bytes and any text', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.stringMatching(/^[ A-Za-z0-9+/=\n]{0,12}$/)), (text) =>
        expectNodesAnswer(
          realm,
          (given) => {
            const attempt = (work: (text: string) => string) => {
              try {
                return work(given);
              } catch (error) {
                return (error as Error).name;
              }
            };
            return [attempt(btoa), attempt(atob)];
          },
          text,
        ),
      ),
      comparing(300),
    );
  });
});
