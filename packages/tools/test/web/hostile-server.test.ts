import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { WebLimits } from '#tools/web/limits.js';
import { refusal } from '../support/temporary-folder.js';
import { serve, serveRaw, web } from './support.js';

const HERE = { allow: ['127.0.0.1'] };
/** For pages that would take a thread much longer. */
const LITTLE_TIME = { readTimeoutMs: 1_500, readMemoryMb: 96 };
const html = { 'content-type': 'text/html' };

/** One answer for every request, and the failure of a fetch. */
async function fetchFrom(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  limits: Partial<WebLimits> = {},
): Promise<{ reason: unknown; message: string }> {
  const { url } = await serve(answer);
  const { data, message } = await refusal(() => web({ ...HERE, limits }).fetchUrl({ urls: url }));
  expect(message).toMatch(/^[^\n]+\.$/u);
  return { reason: data['reason'], message };
}

describe('redirects', () => {
  it('in a circle end after five', async () => {
    let hops = 0;
    const { reason, message } = await fetchFrom((_request, response) => {
      hops += 1;
      response.writeHead(302, { location: `/${hops}` }).end();
    });
    expect(reason).toBe('too_many_redirects');
    expect(message).toContain('more than 5 times');
    expect(hops).toBe(6);
  });

  it('are followed up to five, and the last page is the source', async () => {
    const { url } = await serve((request, response) => {
      const step = Number(request.url!.slice(1));
      if (step < 5) response.writeHead(308, { location: String(step + 1) }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('arrived');
    });
    const { fetches } = await web(HERE).fetchUrl({ urls: `${url}/0` });
    expect(fetches[0]).toMatchObject({ url: `${url}/0`, source: `${url}/5` });
    expect(fetches[0].content).toContain('arrived');
  });
});

describe('a name that changes its address', () => {
  it('is resolved once for a request, and the connection goes to the address that was checked', async () => {
    const good = await serve((_request, response) => response.writeHead(200, html).end('<p>good</p>'), '127.0.0.2');
    const asked: string[] = [];
    const resolve = (host: string): Promise<string[]> =>
      Promise.resolve([asked.push(host) === 1 ? '127.0.0.2' : '127.0.0.1']);
    const { fetchUrl } = web({ allow: ['127.0.0.2'], resolve });
    const { fetches } = await fetchUrl({ urls: `http://rebound.example:${good.port}/` });
    expect(fetches[0].content).toContain('good');
    expect(asked).toEqual(['rebound.example']);
    await expect(lookup('rebound.example')).rejects.toThrow();
  });

  it('is checked again at each redirect', async () => {
    const asked: string[] = [];
    const start = await serve(
      (_request, response) => response.writeHead(302, { location: '/again' }).end(),
      '127.0.0.2',
    );
    const resolve = (host: string): Promise<string[]> =>
      Promise.resolve([asked.push(host) === 1 ? '127.0.0.2' : '127.0.0.1']);
    const { fetchUrl } = web({ allow: ['127.0.0.2'], resolve });
    const { data } = await refusal(() => fetchUrl({ urls: `http://rebound.example:${start.port}/` }));
    expect(data['reason']).toBe('blocked_address');
    expect(asked).toHaveLength(2);
    expect(start.requests).toHaveLength(1);
  });

  it('that does not exist is one failure', async () => {
    const resolve = (): Promise<string[]> => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const { message } = await refusal(() => web({ resolve }).fetchUrl({ urls: 'http://nowhere.example/' }));
    expect(message).toBe('The host nowhere.example was not found (ENOTFOUND). Check the URL, and the network.');
  });
});

const TEN_GB = 10_000_000_000;

/** Writes as long as the client reads. Returns the bytes that were taken. */
function endless(response: ServerResponse, chunk: Buffer): { readonly bytes: number } {
  const taken = { bytes: 0 };
  const write = (): void => {
    while (!response.destroyed && taken.bytes < TEN_GB) {
      taken.bytes += chunk.length;
      if (!response.write(chunk)) return void response.once('drain', write);
    }
  };
  write();
  return taken;
}

describe('a body', () => {
  it('of 10 GB is left after 5 MB', async () => {
    let taken = { bytes: 0 };
    const { reason, message } = await fetchFrom((_request, response) => {
      response.writeHead(200, html);
      taken = endless(response, Buffer.alloc(65_536, 'a'));
    });
    expect(reason).toBe('too_large');
    expect(message).toContain('larger than 5000000 bytes');
    expect(taken.bytes).toBeLessThan(30_000_000);
  });

  it('that states 10 GB is not read', async () => {
    const { reason } = await fetchFrom((_request, response) => {
      response.writeHead(200, { ...html, 'content-length': TEN_GB });
      response.write('a');
    });
    expect(reason).toBe('too_large');
  });

  it.each([
    ['gzip', gzipSync],
    ['br', (data: Buffer) => brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const)('that %s makes 40 MB of is left after 10 MB', async (coding, compress) => {
    const bomb = compress(Buffer.alloc(40_000_000, 'a'));
    expect(bomb.length).toBeLessThan(100_000);
    const { reason, message } = await fetchFrom((_request, response) =>
      response.writeHead(200, { ...html, 'content-encoding': coding }).end(bomb),
    );
    expect(reason).toBe('too_large');
    expect(message).toContain('after decompression');
  });

  it('in two codings, in an unknown one, or damaged is one failure', async () => {
    for (const [coding, body] of [
      ['gzip, gzip', gzipSync(gzipSync('a'))],
      ['zstd', Buffer.from('a')],
      ['gzip', Buffer.from('no gzip')],
      ['gzip', gzipSync('a'.repeat(1000)).subarray(0, 20)],
      ['br', Buffer.from('no brotli, at all')],
    ] as const) {
      const { reason } = await fetchFrom((_request, response) =>
        response.writeHead(200, { ...html, 'content-encoding': coding }).end(body),
      );
      expect(reason, coding).toBe('unreadable');
    }
  });

  it('that comes one byte at a time is left at the time limit', async () => {
    const timers: NodeJS.Timeout[] = [];
    const { reason } = await fetchFrom(
      (_request, response) => {
        response.writeHead(200, html);
        timers.push(setInterval(() => response.write('a'), 20));
      },
      { timeoutMs: 200 },
    );
    for (const timer of timers) clearInterval(timer);
    expect(reason).toBe('timed_out');
  });

  it('that ends before its stated length is one failure', async () => {
    const { url } = await serveRaw((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\nshort'),
    );
    expect((await refusal(() => web(HERE).fetchUrl({ urls: url }))).data['reason']).toBe('network');
  });
});

describe('a server', () => {
  it('that never answers, or redirects slowly without end, is left at the time limit of the whole call', async () => {
    const silent = await fetchFrom(() => {}, { timeoutMs: 150 });
    expect(silent.reason).toBe('timed_out');
    const slow = await fetchFrom(
      (_request, response) => void setTimeout(() => response.writeHead(302, { location: '/' }).end(), 60),
      { timeoutMs: 150 },
    );
    expect(slow.reason).toBe('timed_out');
  });

  it.each([
    ['one long header', `X-Long: ${'a'.repeat(100_000)}\r\n`],
    ['many headers', 'X-Many: a\r\n'.repeat(20_000)],
  ])('that sends %s is left', async (_name, headers) => {
    const { url } = await serveRaw((socket) => void socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n`));
    const { data, message } = await refusal(() => web(HERE).fetchUrl({ urls: url }));
    expect(data['reason']).toBe('too_large');
    expect(message).toContain('16384 bytes of headers');
  });

  it.each([
    ['something else than HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: tcp\r\nConnection: upgrade\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ])('that sends %s is one failure', async (_name, bytes) => {
    const { url } = await serveRaw((socket) => void socket.write(bytes));
    expect((await refusal(() => web(HERE).fetchUrl({ urls: url }))).data['reason']).toBe('network');
  });

  it('with an error status is one failure that states it', async () => {
    const { reason, message } = await fetchFrom((_request, response) => response.writeHead(404, html).end('<p>none'));
    expect(reason).toBe('http_status');
    expect(message).toContain('404');
  });

  it('is left when the call is aborted', async () => {
    const { url } = await serve(() => {});
    const { fetchUrl } = web(HERE);
    const { data } = await refusal(() => fetchUrl({ urls: url }, abortSoon()));
    expect(data['reason']).toBe('aborted');
  });
});

function abortSoon(): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 30);
  return controller.signal;
}

describe('a page', () => {
  it('of another type than text is refused, whatever it says about itself', async () => {
    for (const [type, body] of [
      ['application/pdf', '%PDF-1.7'],
      ['image/png', '\x89PNG'],
      ['application/octet-stream', 'a'],
      ['text/html', '<p>\0\0\0'],
      ['video/mp4; charset=utf-8', 'a'],
      [undefined, 'a\0b'],
    ] as const) {
      const { reason, message } = await fetchFrom((_request, response) =>
        response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(body),
      );
      expect(reason, type).toBe('binary');
      expect(message).toContain('Read a page of HTML, plain text, JSON or XML');
    }
  });

  it('in an unknown character set is one failure that names it', async () => {
    const { reason, message } = await fetchFrom((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-7' }).end('+ADw-script+AD4-'),
    );
    expect(reason).toBe('unreadable');
    expect(message).toContain('"utf-7"');
  });

  const left = [
    ['nested 100 000 deep', `${'<div>'.repeat(100_000)}deep`],
    ['of 2 MB of open tags', '<b><i><a href=x>'.repeat(130_000)],
    ['with a table in a table, 3 000 times', '<table><tr><td>'.repeat(3_000)],
  ];

  it(`that is ${left.map(([name]) => name).join(', or ')} is left at the limits of its thread`, async () => {
    const fetched = left.map(([, body]) =>
      fetchFrom((_request, response) => response.writeHead(200, html).end(body), LITTLE_TIME),
    );
    for (const { reason, message } of await Promise.all(fetched)) {
      expect(reason).toBe('unreadable');
      expect(message).toContain('could not be converted to Markdown');
    }
  });

  it('that needs too much memory ends its own thread only', async () => {
    const { reason, message } = await fetchFrom(
      (_request, response) => response.writeHead(200, html).end('<p>a</p>'.repeat(600_000)),
      { readMemoryMb: 24 },
    );
    expect(reason).toBe('unreadable');
    expect(message).toContain('24 MB of memory');
  });

  const full = [
    ['white space', `<p>a${' '.repeat(200_000)}b</p>`],
    ['line breaks', `<p>a${'\n'.repeat(100_000)}b</p>`],
    ['open comments', '<!--'.repeat(100_000)],
    ['unclosed attributes', '<a href="'.repeat(50_000)],
    ['character sets', `<meta charset${'='.repeat(900)}`],
    ['unfinished tags', '<html <head '.repeat(50_000)],
    ['bytes that Markdown escapes', '*_[]()`\\#'.repeat(20_000)],
    ['pipes in cells', `<table><tr><td>${'|\n'.repeat(50_000)}</td></tr></table>`],
    ['commas, which weigh content', `<div><p>${'a, '.repeat(100_000)}</p></div>`],
  ] as const;

  it(`full of ${full.map(([name]) => name).join(', ')} is read or left, within the limits`, async () => {
    const bodies = new Map(full.map(([, body], index) => [`/${index}`, body]));
    const { url } = await serve((request, response) => {
      const body = bodies.get(request.url!);
      response.writeHead(200, body === undefined ? { 'content-type': 'text/plain' } : html).end(body ?? 'plain');
    });
    const { fetchUrl } = web({ ...HERE, limits: LITTLE_TIME });
    const { fetches, failed } = await fetchUrl({ urls: ['/plain', ...bodies.keys()].map((path) => `${url}${path}`) });
    expect(fetches.length + failed.length).toBe(full.length + 1);
    for (const { reason } of failed) expect(reason).toBe('unreadable');
  });
});
