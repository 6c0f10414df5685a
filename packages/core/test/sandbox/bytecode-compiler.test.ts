import { BytecodeCompiler } from '#core/sandbox/quickjs/bytecode-compiler.js';
import { loadArtefacts } from '#core/sandbox/worker/artefacts.js';
import { expect, it, vi } from 'vitest';

const statements = Array.from({ length: 3_000 }, (_, at) => `const v${at} = [${at}, ${at}];`).join('');
const source = `(async()=>{${statements}})`;

it('a script is compiled however long a busy machine keeps its thread waiting', async () => {
  const { module, compile } = await loadArtefacts(128);
  const compiler = new BytecodeCompiler(module, compile);
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 10_000));
  try {
    expect(compiler.compile(source)).toBeInstanceOf(Uint8Array);
    expect(clock.mock.calls.length).toBeGreaterThan(2);
  } finally {
    clock.mockRestore();
  }
});
