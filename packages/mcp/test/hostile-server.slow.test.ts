import type { McpEvent, McpOptions } from '#mcp/index.js';
import { describe, expect, it } from 'vitest';
import { listen } from './support/http-servers.js';
import { attachedHarness, failureOf, hostileServer, openServers, valueOf } from './support/open.js';
import { referenceServer } from './support/reference-servers.js';

const QUICK: McpOptions = { reconnect: { firstDelayMs: 1, attempts: 2 } };

/** A harness with the hostile server and a good one. */
async function beside(behaviour: string, options: McpOptions = {}, env: Record<string, string> = {}) {
  // The good one is small: it starts for every test.
  const servers = { hostile: { ...hostileServer(behaviour, env), roots: true }, good: hostileServer('hints') };
  const mcp = await openServers(servers, { ...QUICK, ...options });
  const harness = attachedHarness(mcp, { limits: { timeoutMs: 20_000 } });
  const status = () => mcp.status().find(({ name }) => name === 'hostile')!;
  /** Both servers, and the harness, work. */
  const assertAllWork = async () => {
    const script = `return [await tools.mcp.good.reads(), await tools.mcp.hostile.good()]`;
    expect(valueOf(await harness.runScript(script))).toEqual(['called reads', expect.stringMatching(/^good \d/u)]);
  };
  const call = (name: string, input: object = {}) => harness.callTool(`mcp.hostile.${name}`, input);
  return { mcp, harness, status, assertAllWork, call };
}

describe('a hostile list of tools', () => {
  it('names that collide or cannot be written become names that can, one for each tool', async () => {
    const { harness, status, assertAllWork } = await beside('names');
    const names = status().tools.map((name) => name.slice('mcp.hostile.'.length));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[\w$-]{1,64}$/u);
    expect(names).toContain('get_user');
    expect(
      status()
        .skipped.map(({ reason }) => reason)
        .toSorted(),
    ).toEqual([
      'it has no name',
      'it has no name',
      'it is not an object',
      'it is not an object',
      'it is not an object',
      'it is not an object',
      'its name has more than 256 characters',
      'the server lists two tools with this name',
    ]);
    const script = `
      const { hostile } = tools.mcp as any;
      return Promise.all(${JSON.stringify(names)}.filter((name) => name !== 'good').map((name) => hostile[name]()));
    `;
    const called = valueOf(await harness.runScript(script)) as string[];
    expect(new Set(called).size).toBe(names.length - 1);
    expect(called).toContain('called __proto__');
    expect(called).toContain('called new\nline');
    expect(valueOf(await harness.runScript('return tools.mcp.hostile.get_user()'))).toBe('called get_user');
    await assertAllWork();
  });

  it('schemas that cannot be used cost only their own tools, and nothing is fetched', async () => {
    let fetched = 0;
    const remote = await listen((_request, response) => {
      fetched += 1;
      response.end('{}');
    });
    const { status, call, harness, assertAllWork } = await beside('schemas', {}, { REMOTE: remote });
    const skipped = Object.fromEntries(status().skipped.map(({ name, reason }) => [name, reason]));
    expect(Object.keys(skipped).toSorted()).toEqual(['deep', 'deepish', 'huge']);
    expect(skipped).toMatchObject({
      deep: 'its definition is nested more than 100 levels deep',
      deepish: 'its definition is nested more than 100 levels deep',
      huge: expect.stringContaining('more than 262144 characters'),
    });
    const attempts = await Promise.all([
      call('cyclic', { next: { next: { next: 7 } } }),
      call('loop', { a: 1 }),
      call('redos', { a: `${'a'.repeat(40)}!` }),
      call('proto', JSON.parse('{"__proto__":"x","constructor":"y"}') as object),
      call('output'),
      ...['remote', 'local', 'list', 'word'].map((name) => call(name, { a: 1 })),
    ]);
    expect(attempts.map(({ status: end }) => end)).not.toContain('unknown');
    expect(harness.declarations()).not.toContain('etc/passwd');
    expect(fetched).toBe(0);
    await assertAllWork();
  });

  it('descriptions end no comment and no block, and hide nothing', async () => {
    const { harness, mcp, assertAllWork } = await beside('descriptions');
    const prompt = harness.instructions({ tokenBudget: 20_000 });
    expect(prompt).toContain('x *\\/ } declare const hacked');
    expect(prompt.split('\n').filter((line) => /^\s*```/u.test(line))).toHaveLength(2);
    const raw = JSON.stringify(harness.tools().map(({ description, inputSchema }) => [description, inputSchema]));
    expect(raw).not.toMatch(/[\u200b\u202e\u2028\u0007]|\u{e0041}/u);
    expect(prompt).not.toMatch(/[\u200b\u202e\u2028\u0007]|\u{e0041}/u);
    expect(Math.max(...harness.tools().map(({ description }) => description.length))).toBeLessThan(8_010);
    expect(mcp.status()[0]?.skipped).toEqual([]);
    await assertAllWork();
  });

  it.each([
    ['endless', 'its list has more than 100 pages', 100],
    ['circle', 'its list repeats a page', 2],
    ['crowd', 'its list has more than 2000 entries', 2_000],
    ['bad-list', undefined, 0],
  ])('the list of a server that is %s ends', async (behaviour, incomplete, count) => {
    const mcp = await openServers({ hostile: hostileServer(behaviour) });
    const [status] = mcp.status();
    expect(status).toMatchObject({ state: 'connected', incomplete });
    expect(status?.tools).toHaveLength(count);
  });

  it('a list that never comes is a server that does not answer', async () => {
    const mcp = await openServers({ hostile: hostileServer('no-list') }, { ...QUICK, connectTimeoutMs: 1_000 });
    expect(mcp.status()[0]).toMatchObject({ tools: [], problem: expect.stringMatching(/time/iu) });
  });
});

describe('a hostile result', () => {
  it.each([
    ['huge', /more than|too large|bytes/u],
    ['error-odd', /refused the call: no$/u],
    ['error', /refused the call: not {2}today$/u],
    ['failed', /^no {1,2}access/u],
    ['silent_failure', /failed and gave no reason/u],
  ])('%s is an error of the call', async (name, message) => {
    const { call, assertAllWork } = await beside('results');
    const { status, error, resultOmitted } = await call(name);
    expect([status, resultOmitted]).not.toEqual(['completed', undefined]);
    expect(error?.message).toMatch(message);
    expect(error?.message).not.toMatch(/[\u202e\u0007]/u);
    await assertAllWork();
  });

  it.each([
    ['twice', 'first'],
    ['other_id', 'right'],
    ['not_json', 'right'],
    ['nothing', null],
    ['number', 7],
    ['null', null],
    ['no_content', 'text'],
    ['odd_part', { text: '', content: [{ type: 'hologram', size: 3 }] }],
    ['deep', expect.stringMatching(/^\{"a":\[{900}\]{900}\}$/u)],
    ['wrong_data', { a: 'text' }],
    ['no_data', 'just text'],
  ])('%s gives what was meant', async (name, result) => {
    const { call, assertAllWork } = await beside('results');
    expect(await call(name)).toMatchObject({ status: 'completed', result });
    await assertAllWork();
  });

  it('a call that is never answered ends with its script, or with its own time', async () => {
    const { harness, call, assertAllWork } = await beside('results', { callTimeoutMs: 2_000 });
    expect(await call('silent')).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('did not answer within 2000 ms') },
    });
    const script = 'return tools.mcp.hostile.silent()';
    const patient = await harness.runScript(script, { limits: { timeoutMs: 100 } });
    expect(failureOf(patient).code).toBe('ScriptTimeoutError');
    await assertAllWork();
  });

  it.each(['dies', 'half'])('a server that %s during a call is started again by the next one', async (name) => {
    const { call, assertAllWork } = await beside('results');
    const { status, error } = await call(name);
    expect(status).toBe('failed');
    expect(error?.message).toContain(
      'ended during the call. Whether the call took effect is unknown: check before you repeat it.',
    );
    await assertAllWork();
  });

  it.each(['too_deep', 'too_many'])(
    'a message that is %s costs the connection, and no parser reads it',
    async (name) => {
      const { call, assertAllWork } = await beside('results');
      expect((await call(name)).error?.message).toContain('ended during the call');
      await assertAllWork();
    },
  );

  it('a message without an end costs the connection, and the next call opens another', async () => {
    const { call, assertAllWork } = await beside('endless-line');
    expect(await call('good', { act: true })).toMatchObject({ status: 'failed' });
    await assertAllWork();
  });
});

describe('a hostile conversation', () => {
  it('a flood of notifications leads to few readings of the list, and the call gets its result', async () => {
    const events: McpEvent[] = [];
    const { call, assertAllWork, harness } = await beside('flood', { onEvent: (event) => events.push(event) });
    expect(await call('good', { act: true })).toMatchObject({ status: 'completed', result: 'flooded' });
    await assertAllWork();
    const lists = Number(String((await harness.callTool('mcp.hostile.good', {})).result).split(' ')[2]);
    expect(lists).toBeLessThan(20);
    expect(events.filter(({ type }) => type === 'log').length).toBeLessThan(500);
  });

  it.each([
    ['text', 'yes | head -c 20000000; sleep 100'],
    ['values that are no messages', 'yes {} | head -c 20000000; sleep 100'],
    ['text while a program that it has started lives', 'sleep 60 & yes | head -c 20000000; wait'],
  ])('a program that floods its output with %s is ended, and the others work', async (_what, command) => {
    const servers = { hostile: { command: 'sh', args: ['-c', command] }, everything: referenceServer('everything') };
    const mcp = await openServers(servers, { reconnect: { attempts: 0 } });
    expect(mcp.status()).toMatchObject([
      {
        name: 'hostile',
        state: 'failed',
        problem: expect.stringContaining(
          'ended before it answered, by SIGKILL: it floods its standard output with text that is not an MCP message.',
        ),
      },
      { name: 'everything', state: 'connected' },
    ]);
    const harness = attachedHarness(mcp);
    expect(valueOf(await harness.runScript(`return tools.mcp.everything.echo({ message: 'x' })`))).toBe('Echo: x');
  });

  it('what a server asks is refused with a reason where nobody answers', async () => {
    const { call, assertAllWork } = await beside('asks');
    const { result } = await call('good', { act: true });
    expect(String(result).split('\n')).toEqual([
      expect.stringContaining('No user can answer'),
      expect.stringContaining('no access to a language model'),
      expect.stringContaining('shares no folders'),
      expect.stringContaining('This client does not support "server/exec".'),
    ]);
    await assertAllWork();
  });

  it('what a server asks is answered where the host answers', async () => {
    const { call } = await beside('asks', {
      onElicitation: async ({ server, message }) => ({
        action: 'accept',
        content: { password: `${server}: ${message}` },
      }),
      onSampling: async ({ maxTokens }) => ({ model: 'mine', text: `up to ${maxTokens}` }),
      roots: ['/work space'],
    });
    const { result } = await call('good', { act: true });
    const [elicited, sampled, roots] = String(result)
      .split('\n')
      .slice(0, 3)
      .map((line) => JSON.parse(line) as object);
    expect(elicited).toEqual({ action: 'accept', content: { password: 'hostile: Your password?' } });
    expect(sampled).toMatchObject({ model: 'mine', content: { type: 'text', text: 'up to 10' } });
    expect(roots).toEqual({ roots: [{ uri: 'file:///work%20space', name: '/work space' }] });
  });
});
