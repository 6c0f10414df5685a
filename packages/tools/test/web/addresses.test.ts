import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { isPublicAddress, AddressGuard } from '#tools/web/guard.js';
import { urlHost, parseTarget } from '#tools/web/target-url.js';
import { refusal } from '../support/temporary-folder.js';
import { serve, web } from './support.js';

const never = new AbortController().signal;

/** Names that other people own and that lead here. The system's resolver is not asked. */
const NAMES: Readonly<Record<string, string>> = {
  localhost: '127.0.0.1',
  'localhost.': '127.0.0.1',
  'localtest.me': '127.0.0.1',
  '127.0.0.1.nip.io': '127.0.0.1',
  'metadata.google.internal': '169.254.169.254',
  'v6.example': '::1',
  'mapped.example': '::ffff:127.0.0.1',
};

/** Redirects to a place at the host that sends them. */
const isRelative = (location: string): boolean => /^(?:http:|\/)(?!\/|\\)/u.test(location);

const resolve = (host: string): Promise<string[]> => Promise.resolve([NAMES[host] ?? '10.0.0.1']);

/** Spellings of addresses that are not public, and of others that hide which address they are. `PORT` is a server's. */
const SPELLINGS = [
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://0x7f.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://0177.0.0x1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127。0。0。1:PORT/',
  'http://１２７.0.0.1:PORT/',
  'http://①②⑦.0.0.1:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://127.0.0.1%2e:PORT/',
  'http://12\t7.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  'http:127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'http://user@127.0.0.1:PORT/',
  'http://example.com@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT@example.com/',
  'http://[::1]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2001:0:7f00:1::]:PORT/',
  'http://[fe80::1]:PORT/',
  'http://[fc00::1]:PORT/',
  'http://[fd00:ec2::254]/',
  'http://[ff02::1]:PORT/',
  'http://[2001:db8::1]/',
  'http://127.255.255.254:PORT/',
  'http://10.1.2.3/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://100.100.100.200/',
  'http://169.254.169.254/latest/meta-data/',
  'http://0xa9fea9fe/',
  'http://168.63.129.16/',
  'http://192.0.0.8/',
  'http://198.18.0.1/',
  'http://203.0.113.7/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  // Public addresses, written so that nobody sees it.
  'http://134744072/',
  'http://0x08080808/',
  'http://8.8.2056/',
  ...Object.keys(NAMES).map((name) => `http://${name}:PORT/`),
  'http://8.8.8.8:22/',
  'https://8.8.8.8:25/',
  'file:///etc/passwd',
  'ftp://127.0.0.1/',
  'gopher://127.0.0.1:PORT/_',
  'data:text/html,hello',
  'javascript:alert(1)',
  'blob:http://127.0.0.1/1',
  'ws://127.0.0.1:PORT/',
  '//127.0.0.1:PORT/',
  '/etc/passwd',
  '',
];

describe('a URL of an address that is not public', () => {
  it(`is refused with one sentence, and contacts nobody, in ${SPELLINGS.length} spellings`, async () => {
    expect(SPELLINGS.length).toBeGreaterThanOrEqual(70);
    const canary = await serve((_request, response) => response.end('inside'));
    const { fetchUrl, http } = web({ resolve });
    for (const spelling of SPELLINGS) {
      const url = spelling.replace('PORT', String(canary.port));
      for (const call of [() => fetchUrl({ urls: url }), () => http({ url })]) {
        const { message, data } = await refusal(call);
        expect(['bad_url', 'blocked_address'], url).toContain(data['reason']);
        expect(message, url).toMatch(/^The (?:URL|host) [^\n]+\.$/u);
      }
    }
    expect(canary.requests).toHaveLength(0);
  });

  it('is refused as a redirect, in each of these spellings', async () => {
    const canary = await serve((_request, response) => response.end('inside'));
    let location = '';
    const start = await serve((_request, response) => response.writeHead(302, { location }).end());
    const names = { ...NAMES, 'start.example': '127.0.0.1' };
    const { fetchUrl } = web({
      allow: ['start.example'],
      resolve: (host) => Promise.resolve([(names as Record<string, string>)[host] ?? '10.0.0.1']),
    });
    let tried = 0;
    for (const spelling of SPELLINGS.filter((one) => /^[\x20-\x7e]+$/u.test(one) && !isRelative(one))) {
      location = spelling.replace('PORT', String(canary.port));
      const { data } = await refusal(() => fetchUrl({ urls: `http://start.example:${start.port}/` }));
      expect(['bad_url', 'blocked_address'], location).toContain(data['reason']);
      tried += 1;
    }
    expect(tried).toBeGreaterThan(50);
    expect(start.requests).toHaveLength(tried);
    expect(canary.requests).toHaveLength(0);
  });

  it('is refused if only one of the addresses of its name is not public', async () => {
    const { fetchUrl } = web({ resolve: () => Promise.resolve(['8.8.8.8', '127.0.0.1']) });
    expect((await refusal(() => fetchUrl({ urls: 'http://two.example/' }))).data['reason']).toBe('blocked_address');
  });
});

describe('a URL', () => {
  it('with a user name, an overlong one, and one of a reserved port are refused before anything is resolved', async () => {
    const asked: string[] = [];
    const { fetchUrl } = web({ resolve: (host) => (asked.push(host), Promise.resolve(['8.8.8.8'])) });
    for (const urls of [
      'http://user:secret@page.example/',
      `http://page.example/${'a'.repeat(9_000)}`,
      'http://page.example:25/',
    ])
      expect((await refusal(() => fetchUrl({ urls }))).data['reason'], urls).toBe('bad_url');
    expect(asked).toEqual([]);
  });

  it('written plainly is accepted', () => {
    for (const url of ['http://8.8.8.8/', 'https://8.8.8.8:8443/a?b#c', 'http://[2606:4700::1111]/', 'http://例え.jp/'])
      expect(() => parseTarget(url)).not.toThrow();
    expect(parseTarget('b', new URL('http://8.8.8.8/a')).href).toBe('http://8.8.8.8/b');
  });
});

describe('the operator', () => {
  it('allows a host, an address or a range, and nothing else by it', async () => {
    const guard = new AddressGuard({ allow: ['intranet.example', '10.0.0.7', 'fd00::/8'], resolve });
    for (const url of ['http://intranet.example/', 'http://10.0.0.7/', 'http://[fd12::1]/'])
      await expect(guard.resolveAddresses(new URL(url), never)).resolves.toHaveLength(1);
    for (const url of ['http://a.intranet.example/', 'http://10.0.0.8/', 'http://[fc00::1]/', 'http://127.0.0.1/'])
      await expect(guard.resolveAddresses(new URL(url), never)).rejects.toThrow('not public');
  });

  it('gets an error for an entry that allows nothing', () => {
    for (const entry of ['', '10.0.0.0/99', 'http://a.example', 'a.example:80', '10.0.0.0/', 'a b'])
      expect(() => web({ allow: [entry] }), entry).toThrow('"allow" of the web tools');
  });
});

/** The judgement of another library, which knows more kinds of addresses than public and not. */
function isUnicast(address: string): boolean {
  return ipaddr.process(address).range() === 'unicast';
}

const part = (value: number): fc.Arbitrary<string> =>
  fc.constantFrom(String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`, `0x00${value.toString(16)}`);

/** An IPv4 address, mostly near the ranges that matter, in one of the spellings that URL parsers read. */
const spelledIpv4 = fc
  .tuple(
    fc.oneof(fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 240, 255), fc.nat(255)),
    fc.oneof(fc.constantFrom(0, 16, 18, 31, 51, 64, 127, 168, 254), fc.nat(255)),
    fc.nat(255),
    fc.nat(255),
  )
  .chain(([a, b, c, d]) => {
    const plain = `${a}.${b}.${c}.${d}`;
    const tail = [(b << 16) | (c << 8) | d, (c << 8) | d] as const;
    const dotted = fc.tuple(part(a), part(b), part(c), part(d)).map((parts) => parts.join('.'));
    const short = fc.tuple(part(a), part(tail[0])).map((parts) => parts.join('.'));
    const three = fc.tuple(part(a), part(b), part(tail[1])).map((parts) => parts.join('.'));
    const whole = part(a * 2 ** 24 + tail[0]);
    const wide = fc.constant(
      [...plain].map((sign) => (sign === '.' ? '。' : String.fromCodePoint(0xfee0 + sign.codePointAt(0)!))).join(''),
    );
    const escaped = fc.constant([...plain].map((sign) => `%${sign.codePointAt(0)!.toString(16)}`).join(''));
    return fc.tuple(fc.constant(plain), fc.oneof(fc.constant(plain), dotted, short, three, whole, wide, escaped));
  });

const group = fc.oneof(
  fc.constantFrom('0', 'ffff', '7f00', '1', 'a00', 'c0a8'),
  fc.nat(0xffff).map((n) => n.toString(16)),
);
const ipv6 = fc
  .tuple(
    fc.oneof(
      fc.constantFrom('0', '64', '100', '2000', '2001', '2002', '2606', '2620', '3fff', 'fc00', 'fe80', 'ff02'),
      group,
    ),
    fc.oneof(fc.constantFrom('0', 'ff9b', 'db8', '4700'), group),
    fc.array(group, { minLength: 6, maxLength: 6 }),
  )
  .map(([first, second, rest]) => [first, second, ...rest].join(':'));

describe('the guard, beside another library', () => {
  it('accepts an IPv4 address only if it is public and written plainly', () => {
    let accepted = 0;
    fc.assert(
      fc.property(spelledIpv4, ([plain, spelling]) => {
        const url = attempt(`http://${spelling}/`);
        const isAccepted = url !== undefined && isPublicAddress(urlHost(url));
        if (isAccepted) {
          accepted += 1;
          expect(url.hostname).toBe(plain);
          expect(spelling).toBe(plain);
          expect(isUnicast(plain)).toBe(true);
        }
        // The other way round, but for Azure's own address and three ranges of name servers.
        if (spelling === plain && isUnicast(plain))
          expect(isPublicAddress(plain) || /^(?:168|192)\./u.test(plain)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });

  it('accepts an IPv6 address only if it is public, and contains no IPv4 address', () => {
    let accepted = 0;
    fc.assert(
      fc.property(ipv6, (address) => {
        const url = attempt(`http://[${address}]/`);
        if (url === undefined || !isPublicAddress(urlHost(url))) return;
        accepted += 1;
        expect(ipaddr.parse(address).range()).toBe('unicast');
      }),
      { numRuns: 2_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });
});

function attempt(text: string): URL | undefined {
  try {
    return parseTarget(text);
  } catch {
    return undefined;
  }
}
