// `npm run test:openapi`: the OpenAPI document of GitHub, from npm at a pinned version, behind `toolscript mcp`: from a
// cold start to a script that reads all pages of a list from a local imitation of the API. It needs the npm registry once.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayClient } from './clients/gateway-client.mjs';
import { installed } from './clients/installed.mjs';
import { Place } from './clients/place.mjs';
import { prepare } from './prepare.mjs';

const DOCUMENT = '@octokit/openapi@23.0.2';
const MIN_OPERATIONS = 1_000;
const REPOSITORIES = Array.from({ length: 65 }, (_, index) => ({ id: index, name: `repository-${index}` }));
const ALL_PAGES = `
const names: string[] = [];
for (let page = 1; ; page += 1) {
  const items = await tools.mcp.github.repos_list_for_org({ org: 'acme', per_page: 30, page });
  names.push(...items.map(({ name }) => name));
  if (items.length < 30) return names;
}`;

prepare();
const openapi = join(installed(DOCUMENT), 'node_modules/@octokit/openapi/generated/api.github.com.json');
const api = createServer(answer);
await new Promise((resolve) => api.listen(0, '127.0.0.1', resolve));
const baseUrl = `http://127.0.0.1:${api.address().port}`;
const place = new Place();
place.write('.config/toolscript/mcp.json', {
  mcpServers: { github: { openapi, baseUrl, headers: { Authorization: 'Bearer own' } } },
});
try {
  for (const start of ['cold', 'with the stored catalogue']) await tryStart(start);
} finally {
  api.close();
  place.remove();
}

async function tryStart(start) {
  const began = performance.now();
  const client = await GatewayClient.connect(place);
  try {
    const answeredMs = performance.now() - began;
    const found = await findList(client);
    const readyMs = performance.now() - began;
    const { tools } = await client.request('tools/list');
    const { description } = tools.find(({ name }) => name === 'run_script');
    const operations = Number(/(\d+) tools in/u.exec(description)?.[1]);
    assert.ok(operations > MIN_OPERATIONS, description);
    for (const text of [description, client.offer.instructions]) assert.ok(text.length <= 2_000, text);
    assert.match(found, /repos_list_for_org: List organization repositories/u);
    const described = await client.call('describe_tools', { names: ['mcp.github.repos_list_for_org'] });
    assert.match(described.text, /org: string/u);
    const { data } = await client.call('run_script', { code: ALL_PAGES });
    assert.deepEqual(
      data.value,
      REPOSITORIES.map(({ name }) => name),
    );
    const asked = await client.call('run_script', {
      code: `return tools.mcp.github.issues_create({ owner: 'acme', repo: 'one', title: 'Two' })`,
    });
    assert.equal(asked.data.status, 'suspended');
    console.log(
      `ok      ${start}: answered after ${Math.round(answeredMs)} ms, ${operations} operations after ${Math.round(readyMs)} ms`,
    );
  } finally {
    await client.close();
  }
}

/** The result of a search, once the document has been read. */
async function findList(client) {
  for (;;) {
    const { text } = await client.call('search_tools', { query: 'repos list for org' });
    if (/^mcp\.github\.repos_list_for_org:/mu.test(text)) return text;
    assert.match(text, /still connecting/u);
    await sleep(500);
  }
}

function answer({ url, headers }, response) {
  const { pathname, searchParams } = new URL(url, 'http://api');
  const isKnown = pathname === '/orgs/acme/repos' && headers.authorization === 'Bearer own';
  const [page, size] = [searchParams.get('page') ?? 1, searchParams.get('per_page') ?? 30].map(Number);
  const body = isKnown ? REPOSITORIES.slice((page - 1) * size, page * size) : { message: 'Not Found' };
  response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
