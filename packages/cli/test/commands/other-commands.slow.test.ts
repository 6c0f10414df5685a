import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../support/in-process.js';
import { toolscript } from '../support/program.js';
import { newFolder } from '@toolscript/testkit/folder';

describe('toolscript eval', () => {
  it('prints exactly one outcome with --json', async () => {
    const { status, stdout, stderr } = await toolscript([
      'eval',
      '-e',
      "console.log('x'); return { a: 1 + 1 }",
      '--json',
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n')).toHaveLength(2);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'completed',
      value: { a: 2 },
      logs: [{ level: 'log', text: 'x' }],
      operations: [],
    });
  });

  it('prints the value null if a script returned nothing', async () => {
    const { stdout } = await inProcess(['eval', '-e', 'const a = 1', '--json']);
    expect(JSON.parse(stdout)).toHaveProperty('value', null);
  });

  it('reads a file, stdin by name, and stdin by pipe', async () => {
    const file = join(newFolder(), 'script.ts');
    writeFileSync(file, 'const n: number = 3; return n');
    for (const [args, stdin] of [
      [[file], undefined],
      [['-'], 'return 3'],
      [[], 'return 3'],
    ] as const) {
      const { status, stdout } = await toolscript(['eval', ...args, '--json'], stdin === undefined ? {} : { stdin });
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ value: 3 });
    }
  });

  it('fails with status 1 and the failure as data', async () => {
    const { status, stdout } = await inProcess(['eval', '-e', 'return context.nothing.there', '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', error: { code: 'ScriptRuntimeError', line: 1 } });
  });

  it('rejects a wrong call before anything runs, with a frame and the declaration of the tool', async () => {
    const { status, stdout } = await inProcess(['eval', '-e', 'return await tools.readFile({ path: 1 })']);
    expect(status).toBe(1);
    expect(stdout).toContain(
      'ScriptTypeError: tool-arguments: args.path of tools.readFile: expected string, received number (line 1, column 31).',
    );
    expect(stdout).toContain(
      '> 1 | return await tools.readFile({ path: 1 })\n        |                               ^',
    );
    expect(stdout).toContain('hint: The tool is declared as: tools.readFile(args: { path: string;');
    expect(stdout).not.toContain('tool call');
  });

  it('applies the limits and the tools of the command line', async () => {
    const timedOut = await inProcess(['eval', '-e', 'for (;;);', '--json', '--limit', 'computeMs=100']);
    expect(JSON.parse(timedOut.stdout)).toMatchObject({ error: { code: 'ScriptTimeoutError' } });
    const narrow = await inProcess([
      'eval',
      '-e',
      'return [context.capabilities.tools, context.sandbox.timeoutMs]',
      '--json',
      '--tools',
      'readFile,listDir',
    ]);
    expect(JSON.parse(narrow.stdout)).toMatchObject({ value: [['readFile', 'listDir'], 600_000] });
  });

  it('reports that scripts are disabled', async () => {
    const { status, stderr } = await inProcess(['eval', '-e', 'return 1', '--mode', 'disabled']);
    expect(status).toBe(1);
    expect(stderr).toContain('disabled');
  });
});

describe('toolscript tools', () => {
  it('lists the catalog, its declarations and its schemas, narrowed on request', async () => {
    const list = await inProcess(['tools']);
    expect(list.status).toBe(0);
    expect(list.stdout).toMatch(/^readFile +read /mu);
    expect(list.stdout).toMatch(/^exec +external +asks /mu);
    const types = await inProcess(['tools', '--types', '--tools', 'readFile']);
    expect(types.stdout).toContain('readFile');
    expect(types.stdout).not.toContain('writeFile(');
    const schemas = await inProcess(['tools', '--json', '--pack', 'file-ops']);
    const parsed = JSON.parse(schemas.stdout) as { name: string; inputSchema: { type: string } }[];
    expect(parsed.map(({ name }) => name).toSorted()).toEqual([
      'applyPatch',
      'fileSearch',
      'grepFiles',
      'listDir',
      'readFile',
    ]);
    expect(parsed.every(({ inputSchema }) => inputSchema.type === 'object')).toBe(true);
  });
});

describe('toolscript doctor', () => {
  it('really runs the required components, including the sandbox of exec', async () => {
    const { status, stdout } = await toolscript(['doctor', '--json']);
    expect(status).toBe(0);
    const report = JSON.parse(stdout) as {
      ok: boolean;
      checks: { name: string; status: string; detail: string; fix?: string }[];
      configuration: unknown;
    };
    const found = Object.fromEntries(report.checks.map((check) => [check.name, check]));
    expect(report.ok).toBe(true);
    for (const name of ['node', 'platform', 'compiler', 'types', 'sandbox', 'ripgrep', 'terminal', 'configuration'])
      expect(found[name]?.status).toBe('ok');
    const sandbox = found['exec sandbox'];
    expect(sandbox?.detail).toMatch(sandbox?.status === 'ok' ? /ran a command/u : /exec rejects every command/u);
    // The keys determine the available models, and nothing else here does.
    expect(found['models']?.detail).toContain('claude-sonnet: ANTHROPIC_API_KEY is not set');
    expect(report.configuration).toMatchObject({ approve: 'ask', limits: { timeoutMs: 600_000 } });
  });

  it('shows in red that the sandbox of exec is disabled', async () => {
    const config = mkdtempSync(join(tmpdir(), 'toolscript-doctor-config-'));
    mkdirSync(join(config, 'toolscript'));
    writeFileSync(join(config, 'toolscript/config.json'), '{"exec":{"sandbox":"off"}}');
    const { status, stdout } = await inProcess(['doctor'], { env: { XDG_CONFIG_HOME: config } });
    rmSync(config, { recursive: true });
    expect(status).toBe(1);
    expect(stdout).toMatch(/✗ exec sandbox +disabled/u);
  });

  it('fails with the reason if the configuration is wrong', async () => {
    const { status, stdout } = await inProcess(['doctor'], { env: { TOOLSCRIPT_MODE: 'sometimes' } });
    expect(status).toBe(1);
    expect(stdout).toContain('✗ configuration');
    expect(stdout).toContain('TOOLSCRIPT_MODE');
  });
});

describe('help and version', () => {
  it.each([
    [['--help']],
    [['help', 'run']],
    [['run', '--help']],
    [['eval', '--help']],
    [['tools', '--help']],
    [['doctor', '--help']],
    [['trust', '--help']],
    [['rules', '--help']],
  ])('%j shows usage and examples', async (args) => {
    const { status, stdout, stderr } = await inProcess(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('Usage: toolscript');
    expect(stdout).toContain('Examples:');
  });

  it('the version is the package’s', async () => {
    expect((await toolscript(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });
});
