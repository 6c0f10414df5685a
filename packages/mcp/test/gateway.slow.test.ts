import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createHarness, defineTool, memoryStore, type HarnessOptions, type Tool } from '@toolscript/core';
import { createGateway, type GatewayOptions } from '#mcp/index.js';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { listenNewest } from './support/http-servers.js';

type Answer = (message: string) => { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> };

/** The observed effects of the tools. */
function mailTools(): { tools: Tool[]; sent: string[]; waiting: Promise<void>; aborted: Promise<void> } {
  const sent: string[] = [];
  let started = () => {};
  let ended = () => {};
  const waiting = new Promise<void>((resolve) => (started = resolve));
  const aborted = new Promise<void>((resolve) => (ended = resolve));
  const send = defineTool({
    name: 'mail.send',
    description: 'Sends a mail to somebody',
    input: z.object({ to: z.string() }),
    output: z.object({ sent: z.string() }),
    approval: 'always',
    execute: ({ to }) => {
      sent.push(to);
      return { sent: to };
    },
  });
  const wait = defineTool({
    name: 'wait',
    description: 'Waits until it is aborted',
    approval: 'never',
    execute: (_input, { signal }) => {
      started();
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(ended())));
    },
  });
  return { tools: [send, wait], sent, waiting, aborted };
}

function reading(name: string, execute: () => unknown): Tool {
  return defineTool({ name, description: 'Reads', input: z.object({}), effect: 'read', execute });
}

function gatewayOver(
  tools: readonly Tool[],
  harnessOptions: Partial<HarnessOptions> = {},
  options: Partial<GatewayOptions> = {},
) {
  const harness = createHarness({ tools, ...sharedThreads(), ...harnessOptions });
  onTestFinished(() => harness.close());
  return { harness, gateway: createGateway({ harness, ...options }) };
}

/** A client of the official SDK, of the newest protocol, over HTTP. */
async function connect(gateway: ReturnType<typeof createGateway>, answer?: Answer): Promise<Client> {
  const { url } = await listenNewest(gateway.server);
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const options: ClientOptions = { capabilities, versionNegotiation: { mode: 'auto' } };
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  if (answer !== undefined) client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

const run = (client: Client, code: string) => client.callTool({ name: 'run_script', arguments: { code } });
const textOf = ({ content }: { content: readonly unknown[] }) =>
  (content as { text?: string }[]).map(({ text = '' }) => text).join('\n');

const approve: Answer = () => ({ action: 'accept', content: { decision: 'approve' } });
const SEND = `return (await tools.mail.send({ to: 'Ada' })).sent`;
const CAUTIOUS = `try { await tools.mail.send({ to: 'Ada' }) } catch (error) { return error.name + ': ' + error.message }`;

describe('a client of the gateway', () => {
  it('runs a script, and gets its value as text and as data', async () => {
    const client = await connect(gatewayOver(mailTools().tools).gateway);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'run_script',
      'wait_script',
      'cancel_script',
      'resume_script',
      'read_value',
      'search_tools',
      'describe_tools',
    ]);
    expect(tools[0]!.description).toContain('send(args: { to: string })');
    // Claude Code shows other tools to its model only after a search.
    for (const { _meta } of tools) expect(_meta).toEqual({ 'anthropic/alwaysLoad': true });
    const result = await run(client, `console.log('hi'); text('said'); return { sum: 1 + 2 }`);
    expect(result.isError).toBeUndefined();
    expect(textOf(result)).toContain('{"sum":3}');
    expect(result.structuredContent).toMatchObject({
      status: 'completed',
      value: { sum: 3 },
      output: 'said',
      logs: ['log: hi'],
      operations: [],
    });
  });

  it('gets an error that says where and what to do', async () => {
    const client = await connect(gatewayOver(mailTools().tools).gateway);
    const result = await run(client, 'const a = 1;\nreturn tools.mail.send({ to: a })');
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/args\.to of tools\.mail\.send: expected string, received number.*line 2/su);
    expect(result.structuredContent).toMatchObject({ status: 'failed', error: { code: 'ScriptTypeError', line: 2 } });
  });

  it('reads the same facts in content and in structuredContent', async () => {
    const { tools } = mailTools();
    const howToDecide = (id: string) => `run \`decide ${id}\``;
    const { gateway } = gatewayOver(tools, { store: memoryStore() }, { howToDecide });
    const client = await connect(gateway);
    const both = async (code: string) => {
      const result = await run(client, code);
      return [textOf(result), JSON.stringify(result.structuredContent)] as const;
    };
    for (const read of await both(`text('said'); console.log('logged'); null!.x;`))
      for (const fact of ['said', 'logged', '> 1 |', 'ScriptRuntimeError']) expect(read).toContain(fact);
    for (const read of await both(SEND))
      for (const fact of ['mail.send', 'Ada', 'run `decide scr_', 'resume_script']) expect(read).toContain(fact);
  });

  it('reads the calls of a script that has not completed, with their results, whatever its client shows', async () => {
    const client = await connect(gatewayOver([reading('count', () => 3)]).gateway);
    const failed = await run(client, `throw new Error('No paper: ' + (await tools.count()))`);
    for (const read of [textOf(failed), JSON.stringify(failed.structuredContent)])
      expect(read).toContain('done: count {} -> 3');
  });

  it('reads an image as an image, and its data never as text', async () => {
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const sha256 = createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex');
    const image = { type: 'image', mediaType: 'image/png', sha256, data };
    const client = await connect(gatewayOver([reading('picture', () => image)]).gateway);
    const result = await run(client, 'return tools.picture()');
    // Codex shows its model `structuredContent` alone where there is one.
    expect(result.structuredContent).toBeUndefined();
    const images = result.content.filter(({ type }) => type === 'image');
    expect(images).toMatchObject([{ data, mimeType: 'image/png' }]);
    expect(textOf(result)).not.toContain(data);
  });

  it('reads every part of a value that is too large to show', async () => {
    const client = await connect(gatewayOver([], { limits: { modelOutputTokens: 1_000 } }).gateway);
    const value = Array.from({ length: 2_000 }, (_, index) => `row ${index}`);
    const result = await run(client, `return Array.from({ length: 2_000 }, (_, index) => 'row ' + index)`);
    const { scriptId, valuePart } = result.structuredContent as { scriptId: string; valuePart: string };
    for (const read of [textOf(result), JSON.stringify(result.structuredContent)]) {
      expect(read).toContain('read_value');
      expect(read).toContain('row 0');
    }
    expect(valuePart.length).toBeLessThan(4_100);
    let text = '';
    for (let more = true; more;) {
      const part = textOf(await client.callTool({ name: 'read_value', arguments: { scriptId, offset: text.length } }));
      const whole = part.replace(/\n\[characters .*\]$/u, '');
      more = whole !== part;
      text += whole;
    }
    expect(JSON.parse(text)).toEqual(value);
    expect(textOf(await client.callTool({ name: 'read_value', arguments: { scriptId: 'scr_x' } }))).toContain(
      'There is no value of a script "scr_x".',
    );
  });

  it('reads why tools are missing, where it looks for them and after a script that needs them', async () => {
    const notices = () => ['The MCP server "mail" is still connecting.'];
    const client = await connect(gatewayOver(mailTools().tools, {}, { notices }).gateway);
    const call = async (name: string, input: object) =>
      textOf(await client.callTool({ name, arguments: { ...input } }));
    const failed = await run(client, 'return tools.calendar.list()');
    const reads = [
      await call('search_tools', { query: 'zebra' }),
      await call('search_tools', { query: 'mail' }),
      await call('describe_tools', { names: ['zebra'] }),
      textOf(failed),
      JSON.stringify(failed.structuredContent),
    ];
    for (const read of reads) expect(read).toMatch(/server \\?"mail\\?" is still connecting/u);
    expect(reads[0]).not.toMatch(/no tool matches/iu);
  });

  it('hears that a quiet script still runs', async () => {
    const { tools } = mailTools();
    const client = await connect(gatewayOver(tools, {}, { progressMs: 20 }).gateway);
    const cancel = new AbortController();
    let running: Promise<unknown> = Promise.resolve();
    const message = await new Promise((resolve) => {
      running = client.callTool(
        { name: 'run_script', arguments: { code: 'await tools.wait()' } },
        { signal: cancel.signal, onprogress: (progress) => resolve(progress.message) },
      );
    });
    expect(message).toMatch(/^still running after \d+ s$/u);
    cancel.abort();
    await expect(running).rejects.toThrow();
  });

  it('finds and reads tools', async () => {
    const client = await connect(gatewayOver(mailTools().tools).gateway);
    const call = async (name: string, input: object) =>
      textOf(await client.callTool({ name, arguments: { ...input } }));
    expect(await call('search_tools', { query: 'mail' })).toBe('mail.send: Sends a mail to somebody');
    expect(await call('search_tools', { query: 'zebra' })).toContain('No tool matches');
    const described = await call('describe_tools', { names: ['mail.send', 'mail.sent', 'zebra'] });
    expect(described).toContain('There is no tool "zebra". search_tools finds tools.');
    expect(described).toContain('send(args: {');
    expect(described).toContain('There is no tool "mail.sent". Did you mean mail.send?');
  });

  it('follows the progress of a script, and cancels it', async () => {
    const { tools, waiting, aborted } = mailTools();
    const client = await connect(gatewayOver(tools).gateway);
    const cancel = new AbortController();
    const code = `context.emitProgress('begun'); await tools.wait()`;
    let running: Promise<unknown> = Promise.resolve();
    const progress = await new Promise((resolve) => {
      running = client.callTool(
        { name: 'run_script', arguments: { code } },
        { signal: cancel.signal, onprogress: ({ message }) => resolve(message) },
      );
    });
    expect(progress).toBe('begun');
    await waiting;
    cancel.abort();
    await expect(running).rejects.toThrow();
    await aborted;
  });

  it('reads the declarations of a namespace, and the last scripts', async () => {
    const client = await connect(gatewayOver(mailTools().tools).gateway);
    await run(client, 'return 7');
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual([
      'toolscript://declarations/mail',
      'toolscript://declarations/tools',
      'toolscript://scripts',
    ]);
    const read = async (uri: string) => JSON.stringify((await client.readResource({ uri })).contents);
    expect(await read('toolscript://declarations/mail')).toContain('send(args: {');
    expect(await read('toolscript://declarations/tools')).toContain('wait(args?');
    expect(await read('toolscript://scripts')).toContain('return 7');
    await expect(read('toolscript://declarations/nobody')).rejects.toThrow(/not found/iu);
  });
});

describe('a call that needs a decision', () => {
  it.each<[string, Answer, RegExp, number]>([
    ['approved', approve, /^Ada$/u, 1],
    [
      'denied',
      () => ({ action: 'accept', content: { decision: 'deny', note: 'not now' } }),
      /ApprovalDenied.*not now/u,
      0,
    ],
    ['declined', () => ({ action: 'decline' }), /ApprovalDenied/u, 0],
    ['dismissed', () => ({ action: 'cancel' }), /ApprovalDenied.*No user has decided/u, 0],
    ['answered with something else', () => ({ action: 'accept', content: { decision: 'yes' } }), /ApprovalDenied/u, 0],
  ])('is put before the user of the client: %s', async (_how, answer, value, count) => {
    const { tools, sent } = mailTools();
    const asked: string[] = [];
    const client = await connect(gatewayOver(tools, {}, { instantMs: 0 }).gateway, (message) => {
      asked.push(message);
      return answer(message);
    });
    const result = await run(client, count === 1 ? SEND : CAUTIOUS);
    expect((result.structuredContent as { value: string }).value).toMatch(value);
    expect(asked[0]).toContain('mail.send');
    expect(asked[0]).toContain('Ada');
    expect(asked).toHaveLength(1);
    expect(sent).toHaveLength(count);
  });

  it('can be approved together with all later calls of its tool in the script', async () => {
    const { tools, sent } = mailTools();
    let questions = 0;
    const client = await connect(gatewayOver(tools).gateway, () => {
      questions += 1;
      return { action: 'accept', content: { decision: 'approve all calls of this tool in this script' } };
    });
    await run(client, `for (const to of ['a', 'b', 'c']) await tools.mail.send({ to })`);
    expect([sent, questions]).toEqual([['a', 'b', 'c'], 1]);
  });

  it('can be approved for ever, by the rule that the form shows', async () => {
    const { tools, sent } = mailTools();
    const added: string[] = [];
    const choice = 'always approve every call to mail.send';
    const suggestRule = ({ tool }: { tool: string }) => ({
      covers: `every call to ${tool}`,
      add: async () => void added.push(tool),
    });
    const client = await connect(gatewayOver(tools, {}, { suggestRule }).gateway, () => ({
      action: 'accept',
      content: { decision: choice },
    }));
    expect((await run(client, SEND)).structuredContent).toMatchObject({ status: 'completed' });
    expect([sent, added]).toEqual([['Ada'], ['mail.send']]);
  });

  it('is approved once if its rule cannot be stored', async () => {
    const { tools, sent } = mailTools();
    const suggestRule = () => ({ covers: 'this', add: () => Promise.reject(new Error('the disk is full')) });
    const client = await connect(gatewayOver(tools, {}, { suggestRule }).gateway, () => ({
      action: 'accept',
      content: { decision: 'always approve this' },
    }));
    expect((await run(client, SEND)).structuredContent).toMatchObject({ status: 'completed' });
    expect(sent).toEqual(['Ada']);
  });

  it('offers no rule to a caller who may not store rules', async () => {
    const { tools, sent } = mailTools();
    const suggestRule = () => expect.fail('no rule may be offered');
    const { gateway } = gatewayOver(tools, { store: memoryStore() }, { suggestRule });
    const caller = { principal: 'ann', mayRun: true, mayDecide: true };
    const server = () => gateway.server({ authInfo: { token: '', clientId: '', scopes: [], extra: { caller } } });
    const client = await connect({ ...gateway, server }, () => ({
      action: 'accept',
      content: { decision: 'always approve this' },
    }));
    await run(client, SEND);
    expect(sent).toEqual([]);
  });

  it('stays undecided if the client declines at once, because then it has no user', async () => {
    const { tools, sent } = mailTools();
    const options = { instantMs: Infinity, howToDecide: (id: string) => `run \`decide ${id}\`` };
    const { gateway } = gatewayOver(tools, { store: memoryStore() }, options);
    const result = await run(await connect(gateway, () => ({ action: 'decline' })), SEND);
    expect(result.structuredContent).toMatchObject({ status: 'suspended' });
    expect(JSON.stringify(result)).toMatch(/^(?!.*by itself).*resume_script/su);
    expect(sent).toEqual([]);
  });

  it('is asked call by call, with each script once', async () => {
    const { tools, sent } = mailTools();
    const client = await connect(gatewayOver(tools).gateway, approve);
    const code = `for (const to of ['a', 'b', 'c']) await tools.mail.send({ to }); return 'done'`;
    expect((await run(client, code)).structuredContent).toMatchObject({ status: 'completed', value: 'done' });
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  it('is denied where nobody can be asked and nothing stores the script', async () => {
    const { tools, sent } = mailTools();
    const result = await run(await connect(gatewayOver(tools).gateway), CAUTIOUS);
    expect((result.structuredContent as { value: string }).value).toContain('No user has decided about the call');
    expect(sent).toEqual([]);
  });

  it('waits in the store, is decided elsewhere, and resume_script carries no decision', async () => {
    const { tools, sent } = mailTools();
    const { harness, gateway } = gatewayOver(
      tools,
      { store: memoryStore() },
      { resumeWaitMs: 300, howToDecide: (id) => `run \`decide ${id}\`` },
    );
    const client = await connect(gateway);
    const first = await run(client, SEND);
    const { scriptId } = first.structuredContent as { scriptId: string };
    expect(first.structuredContent).toMatchObject({ status: 'suspended' });
    expect(textOf(first)).toContain(`run \`decide ${scriptId}\``);

    const resume = (more: object = {}) => client.callTool({ name: 'resume_script', arguments: { scriptId, ...more } });
    expect(textOf(await resume({ decision: 'approve', decisions: { all: 'approve' } }))).toMatch(
      /No user has decided about the script|nrecognized/u,
    );
    expect(sent).toEqual([]);

    const details = await harness.inspect(scriptId);
    const { approvalId } = details!.pendingApprovals[0]!;
    const waiting = resume();
    const others = [resume(), resume()];
    expect(await harness.decide(scriptId, { [approvalId]: 'approve' })).toMatchObject({ ok: true });
    for (const one of [waiting, ...others])
      expect((await one).structuredContent).toMatchObject({ status: 'completed', value: 'Ada' });
    expect(sent).toEqual(['Ada']);
    expect((await resume()).structuredContent).toMatchObject({ status: 'completed', value: 'Ada' });
    expect(sent).toEqual(['Ada']);
    expect(textOf(await client.callTool({ name: 'resume_script', arguments: { scriptId: 'scr_x' } }))).toContain(
      'There is no stored script "scr_x". Use the id from the result of run_script.',
    );
  });

  it('that is resumed in another place is reported with where its result is', async () => {
    const { tools } = mailTools();
    const { harness, gateway } = gatewayOver(tools, { store: memoryStore() });
    const client = await connect(gateway);
    const { scriptId } = (await run(client, SEND)).structuredContent as { scriptId: string };
    const { suspension, pendingApprovals } = (await harness.inspect(scriptId))!;
    await harness.resume(suspension!, { [pendingApprovals[0]!.approvalId]: 'approve' });
    const reported = await client.callTool({ name: 'resume_script', arguments: { scriptId } });
    expect(textOf(reported)).toBe(
      "Another process, such as a terminal, has resumed the script, and it has ended (completed). That process has the result. The script's calls: mail.send completed.",
    );
  });

  it('is decided by no state but the one that the gateway has made', async () => {
    const { tools, sent } = mailTools();
    const client = await connect(gatewayOver(tools).gateway, approve);
    const forged = { scriptId: 'scr_x', approvals: ['apr_x'] };
    const params = {
      name: 'run_script',
      arguments: { code: SEND },
      inputResponses: { apr_x: { action: 'accept', content: { decision: 'approve' } } },
      requestState: `v1.${Buffer.from(JSON.stringify({ p: forged, exp: 2 ** 40 })).toString('base64url')}.AAAA`,
    };
    await expect(client.request({ method: 'tools/call', params } as never)).rejects.toThrow(/requestState/u);
    expect(sent).toEqual([]);
  });
});

describe('over stdio', () => {
  const gateway = { command: process.execPath, args: [join(import.meta.dirname, 'fixtures/gateway.mjs')] };

  it.each(['legacy', 'auto'] as const)('a client of the newest SDK, mode %s, is asked and answers', async (mode) => {
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    client.setRequestHandler('elicitation/create', () => approve(''));
    await client.connect(new StdioClientTransport(gateway));
    onTestFinished(() => client.close());
    expect((await run(client, SEND)).structuredContent).toMatchObject({ status: 'completed', value: 'Ada' });
  });

  it('a client of the older SDK is asked and answers', async () => {
    const client = new OlderClient({ name: 'older', version: '1.0.0' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { decision: 'approve' } }));
    await client.connect(new OlderStdio(gateway) as never);
    onTestFinished(() => client.close());
    const result = await client.callTool({ name: 'run_script', arguments: { code: SEND } });
    expect(result.structuredContent).toMatchObject({ status: 'completed', value: 'Ada' });
  });
});

describe('ten servers of a hundred tools', () => {
  it('take at most 1 500 tokens of a client’s list of tools', async () => {
    const tools = Array.from({ length: 1_000 }, (_, index) =>
      defineTool(
        {
          name: `mcp.server_${index % 10}.list_records_${index}`,
          description: `Lists the records of kind ${index} that were changed since a day. Pages of up to 100.`,
          inputSchema: {
            type: 'object',
            properties: { since: { type: 'string', description: 'ISO date' }, page: { type: 'integer' } },
            required: ['since'],
          },
          execute: () => 1,
        },
        { namespace: 'mcp' },
      ),
    );
    const client = await connect(gatewayOver(tools, { expose: { mcp: true } }).gateway);
    const list = await client.listTools();
    const tokens = encode(JSON.stringify(list.tools)).length;
    expect(tokens).toBeGreaterThan(700);
    expect(tokens).toBeLessThanOrEqual(1_500);
    expect(client.getInstructions()).toContain('1000 tools in 10 namespaces');
  });
});
