import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
beforeAll(async () => {
  realm = await openRealm();
});
afterAll(() => realm.close());

// Every readable property of a URL.
function read({ address, base }: { address: string; base?: string }): unknown {
  const url = new URL(address, base);
  const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
  const parameters = [...url.searchParams];
  return { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash, parameters };
}

// Excludes the cases in which Node's releases disagree: '^' in paths, spaces at the end of opaque paths, and "xn--"
// labels.
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'http:',
      'https:',
      'ws:',
      'ftp:',
      'file:',
      'mailto:',
      'data:',
      'foo:',
      'HTTP:',
      '//',
      '/',
      '\\',
      '?',
      '#',
      ':',
      '@',
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '[',
      ']',
      '::',
      '[::1]',
      '[1:2::3]',
      '%',
      '%41',
      '%zz',
      'C:',
      'c|',
      'localhost',
      '127.0.0.1',
      '0x7f.1',
      '256',
      '4294967295',
      '017',
      ':80',
      ':443',
      ':8080',
      '://',
      'example.com',
      'user:pass@',
      'a',
      'b',
      'Z',
      '0',
      '9',
      '&',
      '=',
      '+',
      ';',
      ',',
      "'",
      '"',
      '<',
      '`',
      '{',
      '|',
      '~',
      '!',
      '$',
      '\t',
      '\n',
    ),
  },
  { weight: 1, arbitrary: fc.stringMatching(/^[!-\]_-~]{1,3}$/) },
);
const soup = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(''));
const likely = fc
  .tuple(
    fc.constantFrom('http://', 'https://', 'file:///', 'foo://', 'http://u:p@h:81/', 'file://', 'foo:/', 'mailto:'),
    soup,
  )
  .map(([start, rest]) => start + rest);
const address = fc.oneof(
  soup,
  likely,
  fc.webUrl({ withFragments: true, withQueryParameters: true, validSchemes: ['http', 'ftp', 'wss'] }),
);
const base = fc.constantFrom(
  'http://host/a/b/c?q#f',
  'https://user:pw@host:444',
  'file:///C:/dir/file',
  'file://server/share/x',
  'file:///',
  'foo://h/x/y',
  'foo:/x/y',
  'http://[::1]/',
  'nonsense',
);
// The standard ends 'foo:/..' in a slash; Node 20 does not.
const plain = (text: string) =>
  !/xn--/i.test(text) && !/^(?!https?:|wss?:|ftp:|file:)[a-z]+:.*(?:\.|%2e){2}/i.test(text.replace(/[\t\n\r ]/g, ''));

const addresses = [
  '',
  ' ',
  'http:',
  'http://',
  'http:///',
  'http://a',
  'HTTP://EXAMPLE.com:80/%7Efoo/../bar',
  'http://a b/',
  'http://a%20b/',
  'http://user@/x',
  'http://user:@h',
  'http://:p@h',
  'http://@h',
  'http://a@b@c',
  'http://h:0',
  'http://h:65535',
  'http://h:65536',
  'http://h:00080',
  'http://h:8a',
  'http://h:',
  'http:\\\\h\\p',
  'http:h',
  'http:/h',
  'https:////h//p',
  'http://1.2.3.4',
  'http://1.2.3',
  'http://0x7f.0.0.1',
  'http://0300.168.0.1',
  'http://3232235777',
  'http://4294967296',
  'http://1.2.3.4.5',
  'http://1.2.3.4.',
  'http://1.2.3.08',
  'http://0x',
  'http://a.0x',
  'http://a.1',
  'http://1..2',
  'http://255.255.255.256',
  'http://[::]',
  'http://[1::]',
  'http://[::1.2.3.4]',
  'http://[1:2:3:4:5:6:7:8]',
  'http://[1:2:3:4:5:6:7::]',
  'http://[::2:3:4:5:6:7:8]',
  'http://[1:0:0:2:0:0:0:3]',
  'http://[1:2:3:4:5:6:1.2.3.4]',
  'http://[1::2::3]',
  'http://[12345::]',
  'http://[::1.2.3]',
  'http://[::01.2.3.4]',
  'http://[1.2.3.4::]',
  'http://[:::]',
  'http://[::1',
  'http://[g::]',
  'http://[ABCD::EF01]:81/',
  'mailto:a@b.c',
  'data:text/plain,hello world',
  'data:,a%zz',
  'javascript:alert(1)',
  'blob:https://a.b/c',
  'blob:x',
  'foo:',
  'foo:a/../b',
  'foo:/a/../b',
  'foo:///a',
  'foo://h',
  'foo://h:99x',
  'foo:/..//p',
  'foo://a%b c',
  'web+demo:/.//not-a-host/',
  'file:',
  'file:/',
  'file://',
  'file:///',
  'file:c:\\a\\..\\..\\b',
  'file:///C|/x/../../..',
  'file://localhost/x',
  'file://h/C:/..',
  'file:a',
  'file:///a//b/./c',
  'http://h/a/./b/../c/%2e%2E/d/',
  'http://h/?a=b&c=d#e',
  "http://h/'?'#'",
  'http://h/?é=ü',
  'http://h/é/日本?x=😀#ü',
  'http://h/\ud800',
  'http://h?',
  'http://h#',
  'http://h/?#',
  '  http://h/  ',
  'ht\ntp://h/\tx',
  'http://münchen.de/',
  'http://日本語。jp',
  'http://ÉXAMPLE.com',
  'http://пример.испытание',
  'http://ＥＸ.com',
  'http://faß.de',
  'http://a\u00adb.c',
  'foo://é/',
  'http://😀.la/',
  'http://bücher.example:8080/x',
];

// If a host becomes empty before it gets a port, Node 20 does not follow the standard.
function agreed(changes: [string, string][]): boolean {
  const hasPort = changes.some(([part, text]) => part === 'host' && text.includes(':'));
  return !hasPort || changes.every(([part]) => part !== 'href' && part !== 'hostname');
}

describe('URL', () => {
  it.each(addresses)('reads %j like Node', (given) => {
    expectNodesAnswer(realm, read, { address: given });
  });

  it('parses or rejects any URL like Node', () => {
    let accepted = 0;
    fc.assert(
      fc.property(address.filter(plain), (given) => {
        if (URL.canParse(given)) accepted++;
        expectNodesAnswer(realm, read, { address: given });
      }),
      comparing(1000),
    );
    expect(accepted).toBeGreaterThan(500);
  });

  it('resolves any URL against a base like Node', () => {
    fc.assert(
      fc.property(address.filter(plain), base, (given, from) =>
        expectNodesAnswer(realm, read, { address: given, base: from }),
      ),
      comparing(1000),
    );
  });

  it('changes each part like Node', () => {
    const name = fc.constantFrom('href', 'protocol', 'username', 'password', 'hostname', 'pathname', 'search', 'hash');
    // If a port is not a number, or the host before it is missing, Node 20 does not follow the standard.
    const host = fc.tuple(
      fc.constant('host'),
      fc.oneof(
        soup.filter((text) => plain(text) && !text.includes(':')),
        fc.constantFrom('h:1', 'h:443', '[::1]:5', '[::1]', '1.2:80', 'h:80/x'),
      ),
    );
    const port = fc.tuple(
      fc.constant('port'),
      fc.constantFrom('', '80', '81', '443', '0', '65535', '65536', '99999', '8080x', '8\t1', '007'),
    );
    const value = fc.oneof(
      soup.filter((text) => plain(`foo:${text}`)),
      fc.constantFrom('', 'https', 'file:', 'foo', 'x:9', '[::1]:5', '/', '?', '#'),
    );
    const start = fc.constantFrom(
      'http://u:p@h:81/a/b?q#f',
      'https://h',
      'file:///C:/x',
      'file://server/x',
      'foo://h:1/x',
      'foo:opaque',
      'mailto:a@b',
    );
    fc.assert(
      fc.property(
        start,
        fc
          .array(fc.oneof({ weight: 8, arbitrary: fc.tuple(name, value) }, port, host), { maxLength: 4 })
          .filter(agreed),
        (from, changes) =>
          expectNodesAnswer(
            realm,
            ({ from, changes }) => {
              const url = new URL(from);
              const seen: string[] = [];
              for (const [part, value] of changes) {
                try {
                  (url as unknown as Record<string, string>)[part] = value;
                } catch {
                  seen.push('refused');
                }
                seen.push(url.href, url.searchParams.toString());
              }
              return seen;
            },
            { from, changes },
          ),
      ),
      comparing(1000),
    );
  });

  it('keeps the port if a new host has none, and the host if there is none before the port', () => {
    const outcome = realm.run(() => {
      const url = new URL('http://h:81/');
      const other = new URL('foo://h/x');
      url.host = 'g:http';
      other.host = ':443';
      return [url.href, other.href];
    }, null);
    expect(outcome).toEqual({ value: ['http://g:81/', 'foo://h/x'] });
  });

  it('resolves nothing but a fragment against an opaque path', () => {
    expect(realm.run(() => new URL('#new', 'mailto:a@b?c#old').href, null)).toEqual({ value: 'mailto:a@b?c#new' });
    for (const given of ['', 'x', 'x#', '?', '/x']) {
      expect(realm.run((text) => new URL(text, 'mailto:a@b'), given)).toMatchObject({ error: 'TypeError' });
    }
  });

  it('rejects an invalid URL in one sentence', () => {
    expect(realm.run(() => new URL('nonsense'), null)).toEqual({
      error: 'TypeError',
      message: 'Invalid URL: "nonsense"',
    });
    expect(realm.run(() => new URL('/x', 'nonsense'), null)).toEqual({
      error: 'TypeError',
      message: 'Invalid URL: "/x" with the base "nonsense"',
    });
    expect(realm.run(() => new (URL as never as new () => URL)(), null)).toMatchObject({ error: 'TypeError' });
  });

  it('implements canParse and parse without throwing', () => {
    const outcome = realm.run(() => {
      const { parse } = URL as unknown as { parse(address: string, base?: string): URL | null };
      return [
        URL.canParse('http://a'),
        URL.canParse('a'),
        URL.canParse('a', 'http://b'),
        parse('a'),
        parse('a', 'http://b')?.href,
      ];
    }, null);
    expect(outcome).toEqual({ value: [true, false, true, null, 'http://b/a'] });
  });

  it('converts to its href as a string and in JSON', () => {
    expectNodesAnswer(
      realm,
      () => {
        const url = new URL('http://a/?b');
        return [
          `${url}`,
          JSON.stringify({ url }),
          Object.prototype.toString.call(url),
          url.searchParams === url.searchParams,
        ];
      },
      null,
    );
  });

  it('keeps URL and parameters in sync, whichever changes', () => {
    expectNodesAnswer(
      realm,
      () => {
        const url = new URL('http://a/?x=1&x=2#h');
        const seen = [url.searchParams.get('x')];
        url.searchParams.append('y z', 'ä&');
        seen.push(url.href);
        url.search = '?q=%20+';
        seen.push(url.searchParams.get('q'), String(url.searchParams.size));
        url.searchParams.delete('q');
        seen.push(url.href);
        url.href = 'http://b/?n=1';
        seen.push(url.searchParams.get('n'));
        return seen;
      },
      null,
    );
  });
});

describe('URLSearchParams', () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 4 }),
    fc.stringMatching(/^[a-c=&+%?# ~'*.-]{0,4}$/),
    fc.constantFrom('%41', '%c3%a9', '%ff', '%e2%82', '\ud800', '__proto__'),
  );

  it('reads and writes any text like Node', () => {
    fc.assert(
      // Node reads bytes that are not UTF-8 differently if other text that is not ASCII is next to them.
      fc.property(
        fc
          .array(fc.oneof(word, fc.constantFrom('&', '=')), { maxLength: 8 })
          .filter((words) => !/[^\0-\x7f].*%|%.*[^\0-\x7f]/s.test(words.join(''))),
        (words) =>
          expectNodesAnswer(
            realm,
            (text) => {
              const parameters = new URLSearchParams(text);
              return [[...parameters], parameters.toString(), parameters.size];
            },
            words.join(''),
          ),
      ),
      comparing(500),
    );
  });

  it('returns the pairs that it was created from', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word), { maxLength: 5 }), (pairs) => {
        const outcome = realm.run((given) => [...new URLSearchParams(new URLSearchParams(given).toString())], pairs);
        expect(outcome).toEqual({
          value: pairs.map((pair) => pair.map((text) => text.replace(/[\ud800-\udfff]/gu, '\ufffd'))),
        });
      }),
      comparing(200),
    );
  });

  it('applies any sequence of changes like Node', () => {
    const step = fc.tuple(
      fc.constantFrom('append', 'set', 'delete', 'deleteValue', 'has', 'hasValue', 'get', 'getAll', 'sort'),
      fc.constantFrom('a', 'b', 'ä', 'a b'),
      fc.constantFrom('1', '2', ''),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) =>
        expectNodesAnswer(
          realm,
          (given) => {
            const parameters = new URLSearchParams('b=1&a=2&b=3');
            const seen: unknown[] = [];
            for (const [name, key, value] of given) {
              if (name === 'append' || name === 'set') parameters[name](key, value);
              else if (name === 'delete' || name === 'get' || name === 'getAll' || name === 'has')
                seen.push(parameters[name](key) ?? null);
              else if (name === 'deleteValue') parameters.delete(key, value);
              else if (name === 'hasValue') seen.push(parameters.has(key, value));
              else parameters.sort();
              seen.push(parameters.toString());
            }
            return seen;
          },
          steps,
        ),
      ),
      comparing(200),
    );
  });

  it('accepts strings, lists, maps, objects and other parameters, and rejects lists of anything but pairs', () => {
    expectNodesAnswer(
      realm,
      () => {
        const made = [
          undefined,
          '',
          '?a=1',
          'a=1',
          [['a', 1]],
          { a: 1, b: undefined },
          new Map([['m', 'n']]),
          new URLSearchParams('p=q'),
          [new Set(['x', 'y'])],
        ];
        return made.map((init) => new URLSearchParams(init as never).toString());
      },
      null,
    );
    for (const init of [[['a']], ['ab'], [1], [['a', 'b', 'c']]]) {
      expectNodesAnswer(realm, (given) => new URLSearchParams(given as never), init);
    }
  });

  it('supports every kind of iteration, and includes pairs that are appended meanwhile', () => {
    expectNodesAnswer(
      realm,
      () => {
        const parameters = new URLSearchParams('a=1&b=2');
        const seen: unknown[] = [
          [...parameters.keys()],
          [...parameters.values()],
          [...parameters.entries()],
          Object.fromEntries(parameters),
        ];
        parameters.forEach(function (this: unknown, value, key, whole) {
          seen.push([value, key, whole === parameters, this]);
        }, 'self');
        for (const [key] of parameters) if (key === 'a') parameters.append('c', '3');
        return [...seen, parameters.toString()];
      },
      null,
    );
  });

  it('rejects missing arguments', () => {
    for (const name of ['append', 'set', 'get', 'getAll', 'has', 'delete'] as const) {
      expectNodesAnswer(
        realm,
        (method) => (new URLSearchParams() as never as Record<string, () => void>)[method]!(),
        name,
      );
    }
  });
});
