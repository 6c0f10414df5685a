import { createServer } from 'node:http';
import { RESULTS } from './pages.mjs';

export const KEYS = { perplexity: 'pplx-key', firecrawl: 'fc-key' };

/**
 * Plays two services on loopback, by their documented requests and answers: `POST /search` of the Perplexity Search API,
 * and `POST /v2/scrape` of Firecrawl.
 */
export async function openServices() {
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const [status, answer] = answerTo(request, body);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerTo({ method, url, headers }, body) {
  const { authorization } = headers;
  if (method === 'POST' && url === '/search' && body.query !== undefined)
    return authorization === `Bearer ${KEYS.perplexity}` ? [200, found(body)] : [401, { error: {} }];
  if (method === 'POST' && url === '/v2/scrape' && body.formats?.includes('markdown'))
    return authorization === `Bearer ${KEYS.firecrawl}` ? scraped(body) : [401, { success: false }];
  return [400, {}];
}

function found({ max_results: count }) {
  const results = RESULTS.slice(0, count).map(({ title, url, markdown }) => ({
    title,
    url,
    snippet: markdown.slice(title.length + 4, title.length + 304),
    date: '2025-05-01',
    last_updated: '2025-06-01',
  }));
  return { id: 'b0a1', server_time: '2026-01-01T00:00:00Z', results };
}

function scraped({ url }) {
  const page = RESULTS.find((one) => one.url === url);
  if (page === undefined) return [404, { success: false }];
  const metadata = { title: page.title, sourceURL: url, url, statusCode: 200 };
  return [200, { success: true, data: { markdown: page.markdown, metadata } }];
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
