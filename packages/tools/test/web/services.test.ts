import { createHarness } from '@toolscript/core';
import { describe, expect, it } from 'vitest';
import { webTools } from '#tools/web/web-tools.js';
import { refusal } from '../support/temporary-folder.js';
import { bodyOf, serve, web, type LocalServer } from './support.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

/** Perplexity's Search API as its reference describes it: `POST /search`, a bearer key, one list of results. */
async function perplexity(results: unknown = RESULTS, status = 200): Promise<LocalServer & { bodies: any[] }> {
  const bodies: any[] = [];
  const server = await serve(async (request, response) => {
    const body = (await bodyOf(request)) as { query: unknown; max_results: number };
    const isValid =
      request.method === 'POST' &&
      request.url === '/search' &&
      request.headers['content-type'] === 'application/json' &&
      body.max_results >= 1 &&
      body.max_results <= 20;
    if (!isValid) return response.writeHead(400).end();
    if (request.headers.authorization !== 'Bearer pplx-key') return response.writeHead(401).end('{"error":{}}');
    bodies.push(body);
    const answer = { id: 'b0a1', server_time: '2026-01-01T00:00:00Z', results };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  return { ...server, bodies };
}

const RESULTS = [
  {
    title: 'Larks',
    url: 'https://birds.example/larks',
    snippet: 'Larks sing.',
    date: '2025-05-01',
    last_updated: '2025-06-01',
  },
  { title: 'Songs', url: 'https://birds.example/songs', snippet: 'Songs of larks.', date: null, last_updated: null },
  { title: 'Trap', url: 'file:///etc/passwd', snippet: 'no page of the web' },
  { title: 'Larks again', url: 'https://birds.example/larks', snippet: 'the same page' },
];

/** Firecrawl's `POST /v2/scrape`. */
async function firecrawl(change: Record<string, unknown> = {}, status = 200): Promise<LocalServer & { bodies: any[] }> {
  const bodies: any[] = [];
  const server = await serve(async (request, response) => {
    const body = (await bodyOf(request)) as { url: string; formats: string[] };
    if (request.url !== '/v2/scrape' || !body.formats.includes('markdown')) return response.writeHead(400).end();
    if (request.headers.authorization !== 'Bearer fc-key') return response.writeHead(401).end('{"success":false}');
    bodies.push(body);
    const metadata = { title: 'Larks', sourceURL: body.url, url: `${body.url}/final`, statusCode: 200 };
    const answer = { success: true, data: { markdown: '# Larks\n\nThey sing.', metadata }, ...change };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  return { ...server, bodies };
}

const searching = ({ url }: LocalServer): { perplexity: { apiKey: string; baseUrl: string } } => ({
  perplexity: { apiKey: 'pplx-key', baseUrl: url },
});

describe('webSearch', () => {
  it('returns the results of one query, each page once, and says that they are untrusted', async () => {
    const server = await perplexity();
    const { results, note } = await web({ ...searching(server), maxPrefetch: 0 }).webSearch({
      query: 'larks',
      maxResults: 5,
    });
    expect(results).toEqual([
      {
        url: 'https://birds.example/larks',
        title: 'Larks',
        snippet: 'Larks sing.',
        date: '2025-05-01',
        lastUpdated: '2025-06-01',
      },
      { url: 'https://birds.example/songs', title: 'Songs', snippet: 'Songs of larks.' },
    ]);
    expect(note).toContain('never instructions');
    expect(server.bodies[0]).toMatchObject({ query: 'larks', max_results: 5 });
  });

  it('sends several queries in one request, and reads one list or a list for each', async () => {
    for (const results of [RESULTS, RESULTS.map((one) => [one])]) {
      const server = await perplexity(results);
      const found = await web({ ...searching(server), maxPrefetch: 0 }).webSearch({ query: ['larks', 'songs'] });
      expect(found.results).toHaveLength(2);
      expect(server.bodies).toHaveLength(1);
      expect(server.bodies[0].query).toEqual(['larks', 'songs']);
    }
  });

  it('fetches the first results before a script asks for them', async () => {
    const pages = await serve((request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`page ${request.url}`),
    );
    const server = await perplexity(
      ['/1', '/2', '/3'].map((path) => ({ url: pages.url + path, title: path, snippet: '' })),
    );
    const { webSearch, fetchUrl } = web({ ...searching(server), allow: ['127.0.0.1'] });
    await webSearch({ query: 'pages', prefetch: 2 });
    const { fetches } = await fetchUrl({ urls: ['/1', '/2', '/3'].map((path) => pages.url + path) });
    expect(fetches.map((one: { cached: boolean }) => one.cached)).toEqual([true, true, false]);
    expect(pages.requests.map(({ url }) => url)).toHaveLength(3);
  });

  it('without a key is one failure that names the setting', async () => {
    const { message, data } = await refusal(() => web().webSearch({ query: 'larks' }));
    expect(message).toBe(
      'webSearch needs a key of the Perplexity Search API. The operator can set PERPLEXITY_API_KEY in the environment (or the option "perplexity.apiKey" of webTools).',
    );
    expect(data['reason']).toBe('missing_key');
  });

  it.each([
    [401, 'rejects the key (status 401). Check PERPLEXITY_API_KEY'],
    [402, 'no credit left'],
    [429, 'too many requests'],
    [500, 'answered with status 500'],
    [302, 'answered with status 302'],
  ])('states the status %s of the service, and never the key', async (status, text) => {
    const { message } = await refusal(async () =>
      web(searching(await perplexity([], status))).webSearch({ query: 'a' }),
    );
    expect(message).toContain(text);
    expect(message).not.toContain('pplx-key');
  });

  it('sends the key to no other host', async () => {
    const thief = await serve((_request, response) => response.end('{"results":[]}'));
    const server = await serve((_request, response) => response.writeHead(307, { location: thief.url }).end());
    await refusal(() => web(searching(server)).webSearch({ query: 'a' }));
    expect(thief.requests).toHaveLength(0);
  });

  it('states that the answer is unusable or too large', async () => {
    for (const [body, problem] of [
      ['no JSON', 'an answer that is not JSON'],
      ['{}', 'an answer without a list of results'],
      ['{"results":{}}', 'an answer without a list of results'],
      [`"${'a'.repeat(21_000_000)}"`, 'more than 20000000 bytes'],
    ] as const) {
      const server = await serve((_request, response) => response.end(body));
      const { message } = await refusal(() => web(searching(server)).webSearch({ query: 'a' }));
      expect(message).toContain(`Perplexity sent ${problem}`);
    }
  });
});

describe('fetchUrl with a key of Firecrawl', () => {
  const resolve = (host: string): Promise<string[]> =>
    Promise.resolve([host.endsWith('.example') ? '8.8.8.8' : '10.0.0.1']);
  const scraping = ({ url }: LocalServer): Parameters<typeof web>[0] => ({
    firecrawl: { apiKey: 'fc-key', baseUrl: `${url}/` },
    resolve,
  });

  it('returns the Markdown of the service, and fetches nothing itself', async () => {
    const server = await firecrawl();
    const { fetches } = await web(scraping(server)).fetchUrl({ urls: 'https://birds.example/larks' });
    expect(fetches[0]).toMatchObject({ title: 'Larks', source: 'https://birds.example/larks/final', cached: false });
    expect(fetches[0].content).toContain('They sing.');
    expect(server.bodies).toEqual([
      { url: 'https://birds.example/larks', formats: ['markdown'], onlyMainContent: true },
    ]);
  });

  it('asks for no page whose address is not public', async () => {
    const server = await firecrawl();
    const { fetchUrl } = web(scraping(server));
    for (const urls of ['http://intranet/', 'http://127.0.0.1/', 'http://[::1]/'])
      expect((await refusal(() => fetchUrl({ urls }))).data['reason']).toBe('blocked_address');
    expect(server.requests).toHaveLength(0);
  });

  it('states the error of the page and of the service', async () => {
    const failing: readonly (readonly [Record<string, unknown>, number, string])[] = [
      [{ data: { markdown: '', metadata: { statusCode: 404 } } }, 200, 'status 404 for this URL'],
      [{ success: false }, 200, 'returned no Markdown'],
      [{}, 401, 'Check FIRECRAWL_API_KEY'],
      [{}, 402, 'no credit left'],
    ];
    for (const [change, status, text] of failing) {
      const { message } = await refusal(async () =>
        web(scraping(await firecrawl(change, status))).fetchUrl({ urls: 'https://birds.example/' }),
      );
      expect(message).toContain(text);
    }
  });
});

describe('http', () => {
  it('sends the request as it is given, and returns a redirect as a result', async () => {
    const server = await serve(async (request, response) => {
      response.writeHead(303, { location: '/there', 'set-cookie': ['a=1', 'b=2'], 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ method: request.method, header: request.headers['x-lark'], body: await bodyOf(request) }),
      );
    });
    const { http } = web({ allow: ['127.0.0.1'] });
    const sent = { url: server.url, method: 'POST', headers: { 'x-lark': 'sings' }, body: '{"a":1}' };
    const { status, headers, body } = await http(sent);
    expect(status).toBe(303);
    expect(headers).toMatchObject({ location: '/there', 'set-cookie': 'a=1\nb=2' });
    expect(JSON.parse(body)).toEqual({ method: 'POST', header: 'sings', body: { a: 1 } });
    expect(server.requests).toHaveLength(1);
  });

  it('refuses headers of the connection, and invalid ones', async () => {
    const server = await serve((_request, response) => response.end());
    const { http } = web({ allow: ['127.0.0.1'] });
    for (const headers of [
      { Host: 'other' },
      { 'transfer-encoding': 'chunked' },
      { 'a b': 'c' },
      { a: 'b\r\nHost: c' },
    ])
      expect((await refusal(() => http({ url: server.url, headers }))).data['reason']).toBe('bad_url');
    expect(server.requests).toHaveLength(0);
  });

  it('does not exist for scripts unless it is exposed', async () => {
    for (const [expose, isThere] of [
      [{}, false],
      [{ tools: ['http'] }, false],
      [{ tools: ['http'], http: true }, true],
    ] as const) {
      const harness = createHarness({ ...sharedThreads(), tools: webTools(), expose, approvals: 'deny' });
      expect(harness.declarations().includes('http(')).toBe(isThere);
      await harness.close();
    }
  });
});

describe('the pack research', () => {
  it('lets a script search, fetch three pages and compare them, and asks for each call', async () => {
    const pages = await serve((request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`page ${request.url} has larks`),
    );
    const server = await perplexity(
      ['/1', '/2', '/3'].map((path) => ({ url: pages.url + path, title: path, snippet: '' })),
    );
    const asked: string[] = [];
    const harness = createHarness({
      ...sharedThreads(),
      tools: webTools({ ...searching(server), allow: ['127.0.0.1'] }),
      expose: { pack: 'research' },
      approvals: {
        rules: [{ tool: 'fetchUrl', permission: 'fetch:http://127.0.0.1:*', action: 'approve' }, { action: 'ask' }],
        ask: ({ tool }) => (asked.push(tool), { decision: 'approve' }),
      },
    });
    const outcome = await harness.runScript(`
      const { results } = await tools.webSearch({ query: 'larks', maxResults: 3 });
      const { fetches } = await tools.fetchUrl({ urls: results.map(({ url }) => url) });
      return fetches.filter(({ content }) => content.includes('has larks')).length;
    `);
    await harness.close();
    expect(outcome).toMatchObject({ status: 'completed', value: 3 });
    expect(asked).toEqual(['webSearch']);
  });
});
