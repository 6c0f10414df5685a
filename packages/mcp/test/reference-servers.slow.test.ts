import { mkdtempSync, realpathSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamEvent } from '@toolscript/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { attachedHarness, failureOf, openServers, valueOf } from './support/open.js';
import { referenceServer } from './support/reference-servers.js';

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolscript-mcp-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the everything server over stdio', () => {
  it('its tools are typed functions of a script', async () => {
    const mcp = await openServers({ everything: referenceServer('everything') });
    expect(mcp.status()).toMatchObject([
      { name: 'everything', state: 'connected', problem: undefined, skipped: [], untrusted: [] },
    ]);
    const harness = attachedHarness(mcp);
    expect(harness.instructions()).toContain('get_sum(args: {\n        a: number; // First number');
    const script = `
      const { temperature, conditions } = await tools.mcp.everything.get_structured_content({ location: 'New York' });
      return [await tools.mcp.everything.get_sum({ a: 2, b: 3 }), temperature.toFixed(0), conditions.toUpperCase()];
    `;
    expect(valueOf(await harness.runScript(script))).toEqual(['The sum of 2 and 3 is 5.', '33', 'CLOUDY']);
  });

  it.each([
    ['get_sum({ a: "2", b: 3 })', /expected number, received string/u],
    ['get_sum({ a: 2 })', /"?b"?/u],
    ['get_structured_content({ location: "Paris" })', /New York/u],
    ['no_such_tool()', /no_such_tool/u],
  ])('a wrong call is refused before anything runs: %s', async (call, message) => {
    const mcp = await openServers({ everything: referenceServer('everything') });
    expect(mcp.status()).toMatchObject([{ state: 'connected', problem: undefined }]);
    const harness = attachedHarness(mcp);
    const failure = failureOf(await harness.runScript(`return tools.mcp.everything.${call}`));
    expect(failure.code).toBe('ScriptTypeError');
    expect(failure.message).toMatch(message);
  });

  it('gives text, data, and parts where there is more than text', async () => {
    const harness = attachedHarness(await openServers({ everything: referenceServer('everything') }));
    const script = `
      const { everything } = tools.mcp!;
      const image = await everything.get_tiny_image();
      const links = await everything.get_resource_links({ count: 2 });
      const file = await everything.gzip_file_as_resource({ data: 'data:text/plain,abc', outputType: 'resource' });
      return {
        env: typeof (await everything.get_env()).PATH,
        image: image.content.map(({ type, mediaType }) => mediaType ?? type), hash: image.content[1].sha256.length,
        said: image.text.includes('MCP logo'),
        links: links.content.slice(1).map(({ type, uri }) => type + ' ' + uri.split('/').slice(0, 3).join('/')),
        file: [file.content[0].type, file.content[0].mimeType, typeof file.content[0].data],
      };
    `;
    expect(valueOf(await harness.runScript(script))).toEqual({
      env: 'string',
      image: ['text', 'image/png', 'text'],
      hash: 64,
      said: true,
      links: ['resource_link demo://resource', 'resource_link demo://resource'],
      file: ['resource', 'application/gzip', 'string'],
    });
  });

  it('an image is handed over with its bytes', async () => {
    const mcp = await openServers({ everything: referenceServer('everything') });
    const harness = attachedHarness(mcp);
    const script = 'return (await tools.mcp.everything.get_tiny_image()).content[1]';
    const { mediaType, sha256, data } = valueOf(await harness.runScript(script)) as Record<string, string>;
    const { bytes } = await mcp.loadImage({ type: 'image', media_type: mediaType, sha256 } as never);
    expect(Buffer.from(bytes).toString('base64')).toBe(data);
  });

  it('a tool that requires a task runs, with its question to the user', async () => {
    const onElicitation = async () => ({ action: 'accept' as const, content: { interpretation: 'programming' } });
    const mcp = await openServers({ everything: referenceServer('everything') }, { onElicitation });
    const script = `return await tools.mcp.everything.simulate_research_query({ topic: 'python', ambiguous: true })`;
    expect(valueOf(await attachedHarness(mcp).runScript(script))).toContain('**Clarification**: programming');
  });

  it('progress of a call is progress of the script', async () => {
    const harness = attachedHarness(await openServers({ everything: referenceServer('everything') }));
    const events: StreamEvent[] = [];
    const script = 'return tools.mcp.everything.trigger_long_running_operation({ duration: 1, steps: 2 })';
    valueOf(await harness.runScript(script, { onEvent: (event) => events.push(event) }));
    const progress = events.flatMap(({ payload }) => (payload.type === 'script_progress' ? [payload.message] : []));
    expect(progress[0]).toBe('1/2');
  });

  it('a script that is cancelled cancels its calls on the server', async () => {
    const harness = attachedHarness(await openServers({ everything: referenceServer('everything') }));
    const cancel = new AbortController();
    const onEvent = ({ payload }: StreamEvent) => {
      if (payload.type === 'tool_call_start') cancel.abort();
    };
    const script = 'return tools.mcp.everything.trigger_long_running_operation({ duration: 3600, steps: 2 })';
    const outcome = await harness.runScript(script, { onEvent, signal: cancel.signal });
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations).toMatchObject([{ status: 'aborted' }]);
    expect(valueOf(await harness.runScript('return tools.mcp.everything.echo({ message: "still here" })'))).toBe(
      'Echo: still here',
    );
  });

  it('resources are listed, page by page, and read', async () => {
    const harness = attachedHarness(await openServers({ everything: referenceServer('everything') }));
    const script = `
      const { resources } = await tools.listMcpResources();
      const { resourceTemplates } = await tools.listMcpResourceTemplates({ server: 'everything' });
      const read = await tools.readMcpResource({ server: 'everything', uri: 'demo://resource/dynamic/text/1' });
      return { first: resources[0].server, template: resourceTemplates[0].uriTemplate, content: read.content.slice(0, 10) };
    `;
    expect(valueOf(await harness.runScript(script))).toEqual({
      first: 'everything',
      template: 'demo://resource/dynamic/text/{resourceId}',
      content: 'Resource 1',
    });
    const missing = await harness.runScript(`return tools.readMcpResource({ server: 'nobody', uri: 'x:y' })`);
    expect(failureOf(missing).message).toContain('There is no MCP server "nobody". The servers are: everything.');
  });
});

describe('the filesystem server over stdio', () => {
  it('reads and writes, asks before it writes, and says why it fails', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
    const mcp = await openServers({ files: referenceServer('filesystem', folder) });
    const harness = attachedHarness(mcp, { approvals: 'deny' });
    const read = `const { content } = await tools.mcp.files.read_text_file({ path: '${folder}/a.txt' }); return content.split('\\n')[1]`;
    expect(valueOf(await harness.runScript(read))).toBe('two');

    const write = `return tools.mcp.files.write_file({ path: '${folder}/b.txt', content: 'three' })`;
    expect(failureOf(await harness.runScript(write)).code).toBe('ApprovalDeniedError');
    valueOf(await harness.runScript(write, { approvals: 'auto' }));
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('three');

    const outside = failureOf(
      await harness.runScript(`return tools.mcp.files.read_text_file({ path: '/etc/passwd' })`),
    );
    expect(outside).toMatchObject({ code: 'ToolExecutionError', message: expect.stringContaining('Access denied') });
  });
});

describe('the memory server over stdio', () => {
  it('keeps a graph, in the file that its environment names', async () => {
    const file = join(temporaryFolder(), 'memory.json');
    const server = { ...referenceServer('memory'), env: { MEMORY_FILE_PATH: '${MEMORY}' } };
    const mcp = await openServers({ memory: server }, { environment: { MEMORY: file } });
    const harness = attachedHarness(mcp);
    const script = `
      await tools.mcp.memory.create_entities({ entities: [{ name: 'Ada', entityType: 'person', observations: ['counts'] }] });
      const { entities } = await tools.mcp.memory.search_nodes({ query: 'counts' });
      return entities.map(({ name }) => name);
    `;
    expect(valueOf(await harness.runScript(script))).toEqual(['Ada']);
    expect(readFileSync(file, 'utf8')).toContain('Ada');
  });
});

describe('several servers', () => {
  it('start at the same time; one that fails is reported, and the others work', async () => {
    const mcp = await openServers({
      everything: referenceServer('everything'),
      absent: { command: 'toolscript-no-such-program' },
      broken: { command: process.execPath, args: ['-e', 'console.error("no token\\u0007"); process.exit(3)'] },
      unset: { command: 'node', env: { TOKEN: '${TOOLSCRIPT_TEST_UNSET}' } },
      wrong: { comand: 'node' },
      off: { command: 'node', disabled: true },
    });
    const problems = Object.fromEntries(mcp.status().map(({ name, problem }) => [name, problem]));
    expect(Object.keys(problems)).toEqual(['everything', 'absent', 'broken', 'unset', 'wrong']);
    expect(problems).toMatchObject({
      everything: undefined,
      absent: expect.stringContaining('there is no program "toolscript-no-such-program". Install it'),
      broken: expect.stringMatching(/ended before it answered.*Its error output ends with: no token$/u),
      unset: expect.stringContaining('the environment variable TOOLSCRIPT_TEST_UNSET is not set; set it'),
      wrong: expect.stringContaining('it needs "command"'),
    });
    const harness = attachedHarness(mcp);
    expect(valueOf(await harness.runScript('return tools.mcp.everything.echo({ message: "x" })'))).toBe('Echo: x');
  });
});
