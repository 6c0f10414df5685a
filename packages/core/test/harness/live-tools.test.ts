import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Harness, type Tool } from '#core/index.js';
import { failureOf, openHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';

/** A tool that returns its `answer`, under the name given. */
function constant(name: string, answer: string, input: z.ZodObject = z.object({})): Tool {
  return defineTool(
    {
      name,
      description: `Says ${answer}`,
      input,
      output: z.object({ answer: z.string() }),
      approval: 'never',
      execute: () => ({ answer }),
    },
    name.startsWith('mcp.') ? { namespace: 'mcp' } : {},
  );
}

const names = (harness: Harness) => harness.tools().map(({ name }) => name);

describe('the tools of a live harness', () => {
  it('an added tool is callable, typed, declared, described and found', async () => {
    const harness = openHarness({ tools: [constant('first', 'one')] });
    expect(failureOf(await harness.runScript('return tools.second({})')).code).toBe('ScriptTypeError');
    expect(harness.instructions()).not.toContain('second');

    harness.tools.add([constant('second', 'two', z.object({ times: z.number() }))]);

    expect(names(harness)).toEqual(['first', 'second']);
    expect(valueOf(await harness.runScript('return (await tools.second({ times: 2 })).answer'))).toBe('two');
    expect(failureOf(await harness.runScript('return tools.second({ times: "2" })')).code).toBe('ScriptTypeError');
    expect(valueOf(await harness.runScript('return catalog.search("two")'))).toEqual([
      { name: 'second', description: 'Says two' },
    ]);
    expect(valueOf(await harness.runScript('return context.capabilities.tools'))).toEqual(['first', 'second']);
    expect(
      harness
        .catalog()
        .search('two')
        .map(({ name }) => name),
    ).toEqual(['second']);
    expect(harness.catalog().describe('second')).toContain('second(args: {');
    expect(harness.declarations()).toContain('second(args: { times: number })');
    expect(harness.instructions()).toContain('second(args: {');
    expect((await harness.callTool('second', { times: 2 })).status).toBe('completed');
  });

  it('a removed tool is unknown to new scripts and calls', async () => {
    const harness = openHarness({ tools: [constant('first', 'one'), constant('second', 'two')] });
    expect(valueOf(await harness.runScript('return (await tools.second()).answer'))).toBe('two');

    harness.tools.remove(['second']);

    expect(failureOf(await harness.runScript('return (await tools.second()).answer')).code).toBe('ScriptTypeError');
    expect(valueOf(await harness.runScript('return catalog.list()'))).toEqual([
      { name: 'first', description: 'Says one' },
    ]);
    expect((await harness.callTool('second', {})).error?.code).toBe('ToolNotFoundError');
    expect(harness.declarations()).not.toContain('second');
    expect(harness.instructions()).not.toContain('second');
  });

  it('replace removes tools and adds others in one step; a tool of the same name keeps its place', async () => {
    const harness = openHarness({ tools: [constant('a', 'old'), constant('b', 'gone'), constant('c', 'kept')] });
    harness.tools.replace(['a', 'b'], [constant('d', 'new'), constant('a', 'changed')]);
    expect(names(harness)).toEqual(['a', 'c', 'd']);
    expect(valueOf(await harness.runScript('return (await tools.a()).answer'))).toBe('changed');
  });

  it('a running script keeps the tools it was checked against', async () => {
    const { tools, started, release } = sampleTools();
    const harness = openHarness({ tools: [...tools, constant('late', 'before')] });
    const running = harness.runScript(`
      await tools.hold({});
      const found = await catalog.describe('late');
      return [(await tools.late()).answer, found.includes('late'), 'fresh' in tools];
    `);
    await started('hold');
    harness.tools.replace(['late'], [constant('fresh', 'after')]);
    const other = harness.runScript('return (await tools.fresh()).answer');
    release();
    expect(valueOf(await running)).toEqual(['before', true, false]);
    expect(valueOf(await other)).toBe('after');
  });

  it('the next script calls a replaced tool with the same declaration and another behaviour', async () => {
    const harness = openHarness({ tools: [constant('same', 'one')] });
    const script = 'return (await tools.same()).answer';
    expect(valueOf(await harness.runScript(script))).toBe('one');
    harness.tools.replace(['same'], [constant('same', 'two')]);
    expect(valueOf(await harness.runScript(script))).toBe('two');
  });

  it('each script of an answer sees the tools that exist at its start', async () => {
    const harness = openHarness({ tools: [] });
    const add = defineTool({
      name: 'add',
      description: 'Adds a tool',
      approval: 'never',
      execute: () => harness.tools.add([constant('added', 'yes')]),
    });
    harness.tools.add([add]);
    const values: unknown[] = [];
    const answer = `<tool-calls>\nawait tools.add(); return 'added' in tools\n</tool-calls>
<tool-calls>\nreturn (await tools.added()).answer\n</tool-calls>`;
    const events = harness.processText(answer, { onOutcome: (outcome) => values.push(valueOf(outcome)) });
    for await (const event of events) expect(event.run_id).toBeTruthy();
    expect(values).toEqual([false, 'yes']);
  });

  it('a suspended script is resumed with the current tools', async () => {
    const ask = (answer: string) =>
      defineTool({
        name: 'ask',
        description: 'Asks',
        approval: 'always',
        execute: () => answer,
      });
    const harness = openHarness({ tools: [ask('before')] });
    const suspended = await harness.runScript('return tools.ask()');
    if (suspended.status !== 'suspended') expect.fail(suspended.status);
    harness.tools.replace(['ask'], [ask('after')]);
    const [{ approvalId } = { approvalId: '' }] = suspended.pendingApprovals;
    expect(valueOf(await harness.resume(suspended.suspension, { [approvalId]: 'approve' }))).toBe('after');
  });
});

describe('an invalid change of tools', () => {
  it.each([
    ['add', (harness: Harness) => harness.tools.add([constant('a', '')]), /Two tools have the name "a"/],
    ['add', (harness: Harness) => harness.tools.add([constant('new', ''), constant('a.b', '')]), /both a tool/],
    ['add', (harness: Harness) => harness.tools.add([{ name: 'x' } as never]), /made by defineTool/],
    ['add', (harness: Harness) => harness.tools.add(constant('x', '') as never), /tools\.add needs a list of tools/],
    [
      'remove',
      (harness: Harness) => harness.tools.remove(['lists']),
      /There is no tool "lists", which harness\.tools\.remove names\. Did you mean list\?/,
    ],
    ['remove', (harness: Harness) => harness.tools.remove('a' as never), /tools\.remove needs a list of names/],
    [
      'replace',
      (harness: Harness) => harness.tools.replace(['a', 'zz'], []),
      /no tool "zz", which harness\.tools\.replace names/,
    ],
  ])('%s changes nothing and says why', (_how, change, message) => {
    const harness = openHarness({ tools: [constant('a', ''), constant('list', '')] });
    expect(() => change(harness)).toThrow(message);
    expect(names(harness)).toEqual(['a', 'list']);
  });

  it('a closed harness accepts no tools', async () => {
    const harness = openHarness({ tools: [] });
    await harness.close();
    expect(() => harness.tools.add([constant('a', '')])).toThrow(/closed/);
  });
});

describe('the exposure of tools that come and go', () => {
  it('a namespace exposes its current tools', () => {
    const harness = openHarness({
      tools: [constant('read', ''), constant('write', '')],
      expose: { tools: ['read', 'mcp.github'], mcp: true },
    });
    expect(names(harness)).toEqual(['read']);
    harness.tools.add([constant('mcp.github.list', ''), constant('mcp.other.list', ''), constant('third', '')]);
    expect(names(harness)).toEqual(['read', 'mcp.github.list']);
    harness.tools.replace(['mcp.github.list'], [constant('mcp.github.get', '')]);
    expect(names(harness)).toEqual(['read', 'mcp.github.get']);
  });

  it('a name of expose.tools may be removed, and come back', () => {
    const harness = openHarness({ tools: [constant('read', ''), constant('write', '')], expose: { tools: ['read'] } });
    harness.tools.remove(['read']);
    expect(names(harness)).toEqual([]);
    harness.tools.add([constant('read', '')]);
    expect(names(harness)).toEqual(['read']);
  });

  it('tools under mcp stay hidden if MCP is not exposed', async () => {
    const harness = openHarness({ tools: [] });
    harness.tools.add([constant('mcp.github.list', '')]);
    expect(names(harness)).toEqual([]);
    expect((await harness.callTool('mcp.github.list', {})).error?.code).toBe('ToolNotFoundError');
  });
});
