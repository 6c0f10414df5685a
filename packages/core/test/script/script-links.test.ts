import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { createCompiler, restoreScript } from '#core/script/index.js';
import type { CompiledScript, LinkedScript } from '#core/protocol/index.js';

const compiler = createCompiler();
afterAll(() => compiler.close());

async function compiled(source: string): Promise<CompiledScript> {
  const result = await compiler.compile(source, { language: 'ts', maxSourceBytes: 100_000 });
  if (!result.ok) expect.fail(result.failure.message);
  return result.script;
}

async function linked(name: string, source: string): Promise<LinkedScript> {
  const script = await compiled(`const input = context.snippetInput;\n${source}\n`);
  return { name, version: 2, source, input: {}, compiled: script.stored() };
}

/** The place of a text in code, as the engine counts lines. */
function placeOf(code: string, text: string): [line: number, column: number] {
  const before = code.slice(0, code.indexOf(text)).split('\n');
  return [before.length, before.at(-1)!.length + 1];
}

it('every line of a script and of the saved scripts linked to it keeps its number', async () => {
  const filler = fc.constantFrom(
    '',
    '// 😀 {',
    'const a_: { b: string } = { b: `x\n{{y}}` };',
    '/* $& \u2028 */',
    'if (1 > 0) {}',
  );
  const lines = fc.array(filler, { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(lines, lines, lines, async (main, first, second) => {
      const sourceOf = (mark: string, before: readonly string[]) =>
        `${[...new Set(before)].join('\n')}\nconsole.log("${mark}");\n// end`;
      const sources = { main: sourceOf('MAIN', main), one: sourceOf('ONE', first), two: sourceOf('TWO', second) };
      const script = await compiled(sources.main);
      const scripts = [await linked('one', sources.one), await linked('two', sources.two)];
      const whole = restoreScript({ ...script.stored(), linked: { tools: ['saved.run'], scripts } });
      for (const [mark, source, saved] of [
        ['MAIN', sources.main, undefined],
        ['ONE', sources.one, 'one@2'],
        ['TWO', sources.two, 'two@2'],
      ] as const) {
        const place = whole.originalPosition(...placeOf(whole.javascript, `"${mark}"`));
        const line = source.slice(0, source.indexOf(mark)).split('\n').length;
        expect({ line: place?.line, saved: place?.saved }).toEqual({ line, saved });
      }
      // Restored from plain data, as after a suspension, it is the same script.
      const again = restoreScript(JSON.parse(JSON.stringify(whole.stored())) as ReturnType<typeof whole.stored>);
      expect(again.javascript).toBe(whole.javascript);
      expect(again.codeSha256).toBe(whole.codeSha256);
      expect(whole.codeSha256).not.toBe(script.codeSha256);
    }),
    { numRuns: 40 },
  );
});

it('the code between the scripts has no place in any of them', async () => {
  const script = await compiled('return 1');
  const scripts = [await linked('one', 'return 2')];
  const { javascript, originalPosition } = restoreScript({
    ...script.stored(),
    linked: { tools: ['saved.run'], scripts },
  });
  for (const text of ['(0);return', 'context,tools', 'new Proxy', 'runners=new Set'])
    expect(originalPosition(...placeOf(javascript, text)), text).toBeUndefined();
  expect(originalPosition(javascript.split('\n').length, 1)).toBeUndefined();
});

it('no script can contain the names of what is around the scripts', async () => {
  const nameIn = (javascript: string) => /\$[\da-f]{32}/u.exec(javascript)![0];
  const wholeOf = async (source: string, saved: string) => {
    const scripts = [await linked('one', saved)];
    return restoreScript({ ...(await compiled(source)).stored(), linked: { tools: ['saved.run'], scripts } })
      .javascript;
  };
  const name = nameIn(await wholeOf('return 1', 'return 2'));
  for (const javascript of [
    await wholeOf(`return typeof ${name}_0`, 'return 2'),
    await wholeOf('return 1', `return typeof ${name}_0`),
  ])
    expect(javascript).not.toContain(`function ${name}`);
});
