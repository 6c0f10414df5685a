import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { blocksOf, PageFolder, readPage } from './documents.js';

interface Started {
  command: string;
  args: string[];
}

/** The command that a client starts by its configuration, in each of the forms of the page. */
function startedBy(language: string, text: string): Started {
  if (language === 'toml') {
    const member = (name: string) => JSON.parse(new RegExp(`^${name} = (.+)$`, 'mu').exec(text)![1]!) as unknown;
    return { command: member('command') as string, args: member('args') as string[] };
  }
  const { mcpServers, servers, mcp } = JSON.parse(text) as Record<string, Record<string, Started>>;
  const { command, args = [] } = (mcpServers ?? servers ?? mcp)!['toolscript'] as Partial<Started> & {
    command: string | string[];
  };
  const [program, ...words] = [command].flat();
  return { command: program!, args: [...words, ...args] };
}

const configurations = blocksOf(readPage('docs/how-to/mcp-clients.md'))
  .filter(({ language }) => language === 'json' || language === 'toml')
  .map(({ language, content }, index) => ({ index: index + 1, language, ...startedBy(language, content) }));

describe('docs/how-to/mcp-clients.md', () => {
  it('has a configuration for each client', () => {
    expect(configurations.map(({ language }) => language)).toEqual(['json', 'toml', 'json', 'json', 'json']);
  });

  it.each(configurations)('starts the gateway by configuration $index, in $language', async ({ command, args }) => {
    const folder = new PageFolder();
    onTestFinished(() => folder.remove());
    const child = spawn(command, args, {
      cwd: folder.path,
      env: folder.environment(),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'test', version: '1.0.0' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    expect(JSON.parse((await lines.next()).value as string)).toMatchObject({
      result: { serverInfo: { name: 'toolscript' } },
    });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'run_script', arguments: { code: 'return 6 * 7' } } });
    expect(JSON.parse((await lines.next()).value as string)).toMatchObject({
      result: { structuredContent: { value: 42 } },
    });
    const closed = once(child, 'close');
    child.stdin.end();
    expect((await closed)[0]).toBe(0);
  });
});
