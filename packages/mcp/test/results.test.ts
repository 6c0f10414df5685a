import { isOrdinary } from '@toolscript/testkit/ordinary-json';
import * as fc from 'fast-check';
import { createHarness, type Harness, type Outcome } from '@toolscript/core';
import { connectMcpServers, type McpServers } from '#mcp/index.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from './support/http-servers.js';
import { attachedHarness, hostileServer, openServers, valueOf } from './support/open.js';

/** A tool of the server answers with the JSON text of its argument `result`; the others have an output schema. */
let harness: Harness;
let mcp: McpServers;
beforeAll(async () => {
  mcp = await connectMcpServers({ mcpServers: { server: hostileServer('says') } });
  harness = createHarness({ tools: [], expose: { mcp: true }, approvals: 'auto' });
  mcp.attach(harness);
});
afterAll(() => Promise.all([harness.close(), mcp.close()]));

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The script's value for a result, as the server writes it. `tool`: see the fixture. */
async function runWith(result: unknown, tool = 'says'): Promise<Outcome> {
  const json = typeof result === 'string' ? result : JSON.stringify(result);
  return harness.runScript(`return await (tools.mcp.server as any).${tool}({ result: ${JSON.stringify(json)} });`);
}

/** The error that a script catches for a result. */
async function failureWith(result: unknown): Promise<{ message: string; data: unknown }> {
  const json = JSON.stringify(JSON.stringify(result));
  const script = `try { return await tools.mcp.server.says({ result: ${json} }) } catch (e) { return { message: e.message, data: e.data } }`;
  return valueOf(await harness.runScript(script)) as never;
}

const warnings = ({ diagnostics }: Outcome) =>
  diagnostics.filter(({ severity }) => severity === 'warning').map(({ message }) => message);

const text = (said: unknown, more: object = {}) => ({ type: 'text', text: said, ...more });

describe('an odd result keeps its value, and its call has run', () => {
  it.each<[string, unknown, unknown]>([
    ['null annotations', { content: [text('done', { annotations: null })] }, 'done'],
    ['a null _meta of a block', { content: [text('done', { _meta: null })] }, 'done'],
    ['a null _meta', { content: [text('done')], _meta: null }, 'done'],
    [
      'a _meta that is text',
      { content: [text('done')], _meta: 'm' },
      { text: 'done', content: [text('done')], _meta: 'm' },
    ],
    ['a null isError', { content: [text('done')], isError: null }, 'done'],
    ['a null structuredContent', { content: [text('done')], structuredContent: null }, 'done'],
    [
      'a null mimeType',
      { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'done', mimeType: null } }] },
      { text: '', content: [{ type: 'resource', uri: 'a:b', text: 'done' }] },
    ],
    [
      'an image without a mimeType',
      { content: [{ type: 'image', data: PIXEL, mimeType: null }] },
      { text: '', content: [{ type: 'image', mediaType: 'image/png', sha256: expect.any(String), data: PIXEL }] },
    ],
    [
      'an image of the type image/jpg',
      { content: [{ type: 'image', data: '/9j/4AAQ', mimeType: 'image/jpg' }] },
      { text: '', content: [{ type: 'image', mediaType: 'image/jpeg', sha256: expect.any(String), data: '/9j/4AAQ' }] },
    ],
    [
      'an unknown type of block',
      { content: [text('done'), { type: 'hologram', size: 3 }] },
      { text: 'done', content: [text('done'), { type: 'hologram', size: 3 }] },
    ],
    ['a wrong priority', { content: [text('done', { annotations: { priority: 7, audience: 'me' } })] }, 'done'],
    ['structuredContent that is a list', { content: [], structuredContent: [1, 2] }, [1, 2]],
    ['structuredContent that is a number', { content: [], structuredContent: 7 }, 7],
    ['text that is a number', { content: [text(7)] }, { text: '', content: [text(7)] }],
    ['blocks that are text', { content: ['one', 'two'] }, 'one\ntwo'],
    ['content that is text', { content: 'done' }, 'done'],
    ['content that is one block', { content: text('done') }, 'done'],
    ['null content', { content: null, structuredContent: { a: 1 } }, { a: 1 }],
    ['no members', {}, null],
    [
      'members of older protocols',
      { toolResult: { a: 1 } },
      { text: '', content: [], other: { toolResult: { a: 1 } } },
    ],
    [
      'isError that is no flag',
      { content: [text('done')], isError: { why: 'quota' } },
      { text: 'done', content: [text('done')], other: { isError: { why: 'quota' } } },
    ],
    ['isError that is the text false', { content: [text('done')], isError: 'false' }, 'done'],
    [
      'a question without anything to answer',
      { resultType: 'input_required', content: [text('done')] },
      { text: 'done', content: [text('done')], other: { resultType: 'input_required' } },
    ],
    ['a result that is a number', 7, 7],
    ['a result that is null', null, null],
    ['a result that is a list', [1], [1]],
  ])('%s', async (_name, result, value) => {
    const outcome = await runWith(JSON.stringify(result));
    expect(valueOf(outcome)).toEqual(value);
    expect(outcome.operations).toMatchObject([{ status: 'completed' }]);
  });

  it('an answer with both a result and a null error is a result', async () => {
    expect(valueOf(await runWith('{"content":[{"type":"text","text":"done"}]},"error":null', 'says'))).toBe('done');
  });
});

describe('over HTTP', () => {
  const odd = { content: [text('done', { annotations: null })], structuredContent: { id: 'ID' }, _meta: null };
  it.each([
    ['as JSON', 'application/json', (message: string) => message],
    ['as an event', 'text/event-stream', (message: string) => `event: message\r\nid: 1\r\ndata: ${message}\r\n\r\n`],
  ])('an odd result %s keeps its value too', async (_name, type, write) => {
    const results: Record<string, string> = {
      initialize: JSON.stringify({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'odd', version: '1' },
      }),
      'tools/list': JSON.stringify({ tools: [{ name: 'odd', inputSchema: { type: 'object' } }] }),
      'tools/call': JSON.stringify(odd).replace('"ID"', '9007199254740993123'),
    };
    const url = await listen(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string };
      if (id === undefined) return response.writeHead(202).end();
      const result = results[method];
      if (result === undefined) return response.writeHead(404).end();
      return response
        .writeHead(200, { 'content-type': type })
        .end(write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`));
    });
    const remote = attachedHarness(await openServers({ remote: { url } }));
    expect(await remote.callTool('mcp.remote.odd', {})).toMatchObject({
      status: 'completed',
      result: { id: '9007199254740993123', _content: [text('done')] },
    });
  });
});

describe('nothing beside structuredContent is lost', () => {
  const data = { city: 'Oslo', celsius: 21 };

  it.each<[string, unknown[]]>([
    ['no text', []],
    ['a text that is the same JSON', [text(JSON.stringify(data, undefined, 2))]],
    ['a text that the data has', [text('Oslo')]],
  ])('with %s, the value is the data', async (_name, content) => {
    expect(valueOf(await runWith({ content, structuredContent: data }, 'typed'))).toEqual(data);
  });

  it('other text and images are in _content, which the declaration has', async () => {
    const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
    const json = JSON.stringify({ content: [text('It is warm.'), image], structuredContent: data });
    const outcome = await harness.runScript(
      `const { city, _content } = await tools.mcp.server.typed({ result: ${JSON.stringify(json)} }); return [city, _content];`,
    );
    expect(valueOf(outcome)).toEqual([
      'Oslo',
      [text('It is warm.'), { type: 'image', mediaType: 'image/png', sha256: expect.any(String), data: PIXEL }],
    ]);
    expect(warnings(outcome)).toEqual([]);
  });

  it('data that is no object is beside the text', async () => {
    expect(valueOf(await runWith({ content: [text('two')], structuredContent: [1, 2] }))).toEqual({
      structuredContent: [1, 2],
      text: 'two',
      content: [text('two')],
    });
  });
});

describe('a result that is not as declared keeps its value, with a warning', () => {
  it.each<[string, unknown, unknown, RegExp]>([
    ['data of another type', { structuredContent: { city: 7 } }, { city: 7 }, /result\.city: expected string/u],
    ['text', { content: [text('warm')] }, 'warm', /expected .*object/u],
    ['nothing', { content: [] }, null, /expected .*object/u],
  ])('%s', async (_name, result, value, warning) => {
    const outcome = await runWith(result, 'typed');
    expect(valueOf(outcome)).toEqual(value);
    expect(warnings(outcome)).toEqual([expect.stringMatching(warning)]);
    expect(warnings(outcome)[0]).toContain('The call ran');
  });

  it('text counts as declared if it is the JSON of the declared data, or if the schema permits text', async () => {
    const asJson = await runWith({ content: [text('{"city":"Oslo"}')] }, 'typed');
    expect([valueOf(asJson), warnings(asJson)]).toEqual([{ city: 'Oslo' }, []]);
    const asText = await runWith({ content: [text('{"city":"Oslo"}')] }, 'worded');
    expect([valueOf(asText), warnings(asText)]).toEqual(['{"city":"Oslo"}', []]);
  });
});

describe('a failure keeps all that came with it', () => {
  it('the reason in structuredContent, and the images', async () => {
    const structuredContent = { reason: 'quota', retryAfter: 9 };
    const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
    const { message, data } = await failureWith({ content: [image], structuredContent, isError: true });
    expect(message).toContain('quota');
    expect(data).toMatchObject({
      reason: 'tool',
      result: { ...structuredContent, _content: [{ type: 'image', data: PIXEL }] },
    });
  });

  it.each<[string, object, RegExp]>([
    ['an object in content', { content: { code: 'E77' } }, /E77/u],
    ['_meta alone', { content: [], _meta: { why: 'quota' } }, /quota/u],
    ['a resource', { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'quota' } }] }, /quota/u],
  ])('a reason in %s', async (_where, result, reason) => {
    expect((await failureWith({ ...result, isError: true })).message).toMatch(reason);
  });

  it('text beyond the limit of a message', async () => {
    const long = `${'x'.repeat(5_000)}END`;
    const { message, data } = await failureWith({ content: [text(long)], isError: true });
    expect(message.length).toBeLessThan(4_100);
    expect(data).toEqual({ reason: 'tool', result: long });
  });
});

describe('integers beyond 2^53', () => {
  const ID = '9007199254740993123';
  it.each([
    ['in a text', `{"content":[{"type":"text","text":"{\\"id\\": ${ID}}"}]}`],
    ['in data', `{"structuredContent":{"id":-${ID}}}`],
  ])('%s are the text of their digits', async (_name, result) => {
    expect(String((valueOf(await runWith(result)) as { id: unknown }).id).replace('-', '')).toBe(ID);
  });

  it('in strings, and numbers that are exact, stay as they are', async () => {
    const result = `{"structuredContent":{"a":"${ID}","b":9007199254740991,"c":1.25e21,"d":"\\"${ID}"}}`;
    expect(valueOf(await runWith(result))).toEqual({ a: ID, b: 9007199254740991, c: 1.25e21, d: `"${ID}` });
  });
});

/** Every text and number somewhere in a value, and the values of texts that are JSON. */
function leaves(value: unknown): string[] {
  if (typeof value === 'string') {
    try {
      const parsed: unknown = JSON.parse(value);
      return [value, ...(typeof parsed === 'object' ? leaves(parsed) : [])];
    } catch {
      return [value, ...value.split('\n')];
    }
  }
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.entries(value).flatMap(([name, member]) => [name, ...leaves(member)]);
}

describe('whatever JSON a result carries, and wherever', () => {
  it('the caller finds every value', async () => {
    const marked = fc
      .jsonValue({ maxDepth: 3 })
      .filter(isOrdinary)
      .map((value) => ({ marked: value }));
    const block = fc.oneof(
      marked.map((value) => text(JSON.stringify(value))),
      marked.map((value) => text(value)),
      marked,
      fc.record({
        type: fc.constantFrom('text', 'image', 'resource', 'new'),
        annotations: fc.constant(null),
        x: marked,
      }),
    );
    const result = fc.record(
      {
        content: fc.oneof(fc.array(block, { maxLength: 3 }), block, fc.constant(null)),
        structuredContent: fc.oneof(marked, fc.array(marked, { maxLength: 2 }), fc.constant(null), fc.integer()),
        isError: fc.oneof(fc.constantFrom(true, false, null, 'no', 0), marked),
        _meta: fc.oneof(fc.constant(null), marked, fc.constant('meta')),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(result, async (given) => {
        // Only a script reads the data of an error.
        const read =
          given.isError === true
            ? await failureWith(given)
            : await harness.callTool('mcp.server.says', { result: JSON.stringify(given) });
        if (given.isError !== true) expect(read).toMatchObject({ status: 'completed' });
        const found = new Set(leaves(read));
        const { content, structuredContent, _meta, isError } = JSON.parse(JSON.stringify(given)) as Record<
          string,
          unknown
        >;
        const sent = [content, structuredContent, _meta, isError].flatMap(markedValues);
        expect(sent.filter((leaf) => !found.has(leaf))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

/** The values below the members `marked`, wherever they are. */
function markedValues(value: unknown): string[] {
  if (typeof value === 'string') {
    if (!value.includes('"marked"')) return [];
    return markedValues(JSON.parse(value));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => (name === 'marked' ? leaves(member) : markedValues(member)));
}
