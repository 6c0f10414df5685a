import { createContext, runInContext } from 'node:vm';
import { expect } from 'vitest';
import type { Compiler } from '#core/script/compile/compiler.js';
import type { CompiledScript, ScriptFailure } from '#core/protocol/index.js';

export async function compiled(
  compiler: Compiler,
  source: string,
  toolNames?: readonly string[],
): Promise<CompiledScript> {
  const result = await compiler.compile(source, {
    language: 'ts',
    maxSourceBytes: 65_536,
    ...(toolNames === undefined ? {} : { toolNames }),
  });
  expect(result.ok ? undefined : result.failure).toBeUndefined();
  if (!result.ok) throw new Error('not compiled');
  return result.script;
}

export async function refused(
  compiler: Compiler,
  source: string,
  toolNames?: readonly string[],
): Promise<ScriptFailure> {
  const result = await compiler.compile(source, {
    language: 'ts',
    maxSourceBytes: 65_536,
    ...(toolNames === undefined ? {} : { toolNames }),
  });
  expect(result.ok).toBe(false);
  if (result.ok) throw new Error('not refused');
  return result.failure;
}

/** Runs compiled code in a new realm, with tools that answer from a small table. */
export async function run(script: CompiledScript): Promise<unknown> {
  const value: unknown = await start(script);
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

export function start(script: CompiledScript): Promise<unknown> {
  const realm = createContext({
    tools,
    catalog: {},
    context: {},
    console: { log() {}, error() {} },
    setTimeout: () => 1,
    setInterval: () => 2,
  });
  const main = runInContext(script.javascript, realm, { filename: 'script.ts' }) as () => Promise<unknown>;
  expect(main.length).toBe(0);
  return main();
}

const FILES: Record<string, string> = { 'a.txt': 'alpha\nbeta\n', 'b.json': '{"n": 3}' };

const tools = {
  async readFile({ path }: { path: string }) {
    const content = FILES[path];
    if (content === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ToolExecutionError' });
    return { content };
  },
  async listDir() {
    return { entries: Object.keys(FILES).map((name) => ({ name, type: 'file' })) };
  },
  async exec({ argv }: { argv: string[] }) {
    return { exitCode: argv[0] === 'false' ? 1 : 0, stdout: argv.join(' ') };
  },
  shell: { run: echoed },
  far: { deep: { go: echoed } },
};

async function echoed({ argv }: { argv: string[] }) {
  return { exitCode: 0, stdout: argv.join(' ') };
}
