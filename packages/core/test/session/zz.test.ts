import { it } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool } from '#core/index.js';
const t = (name: string, fn: () => unknown) => {
  try {
    const r = fn();
    console.log(name, '=> ok', JSON.stringify(r));
    return r;
  } catch (e) {
    console.log(name, '=>', (e as Error).name, (e as Error).message);
  }
};
it('x', async () => {
  const base = { name: 'r', description: 'd', execute: (x: unknown) => x };
  t('unknown target', () => defineTool({ ...base, input: z.object({ path: z.string() }), oldNames: { a: 'nope' } }));
  t('old is also new', () =>
    defineTool({ ...base, input: z.object({ path: z.string(), a: z.string().optional() }), oldNames: { a: 'path' } }),
  );
  t('self', () => defineTool({ ...base, input: z.object({ path: z.string() }), oldNames: { path: 'path' } }));
  t('array', () => defineTool({ ...base, input: z.object({ path: z.string() }), oldNames: ['path'] as any }));
  t('chain', () => defineTool({ ...base, input: z.object({ c: z.string() }), oldNames: { a: 'b', b: 'c' } }));
  t('proto', () =>
    defineTool({ ...base, input: z.object({ c: z.string() }), oldNames: JSON.parse('{"__proto__":"c"}') }),
  );
  t('null', () => defineTool({ ...base, input: z.object({ c: z.string() }), oldNames: null as any }));
  t('swap', () =>
    defineTool({
      ...base,
      input: z.object({ a: z.string(), b: z.string() }),
      oldNames: { a: 'b', b: 'a' },
    })!.validateInput({ a: '1', b: '2' }),
  );
  const tool = defineTool({
    ...base,
    effect: 'read',
    input: z.object({ path: z.string(), limit: z.number().optional(), cwd: z.string().default('.') }),
    oldNames: { filePath: 'path', file: 'path', workdir: 'cwd', max: 'limit' },
  });
  t('two olds', () => tool.validateInput({ filePath: 'a', file: 'b' }));
  t('old undefined+new', () => tool.validateInput({ filePath: undefined, path: 'b' }));
  t('old null + new', () => tool.validateInput({ max: null, path: 'b' }));
  t('both', () => tool.validateInput({ filePath: 'a', path: 'b' }));
  t('both null', () => tool.validateInput({ limit: null, max: 3, path: 'b' }));
  t('wrong old', () => tool.validateInput({ filePath: 5 }));
  t('proto val', () => tool.validateInput(JSON.parse('{"__proto__": 1, "filePath": "x"}')));
  const rename = defineTool({
    ...base,
    name: 's',
    effect: 'read',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    oldNames: { filePath: 'path' },
  });
  const loose = defineTool({
    ...base,
    name: 'l',
    effect: 'read',
    inputSchema: { type: 'object', additionalProperties: true, properties: { path: { type: 'string' } } },
    oldNames: { filePath: 'path' },
  });
  const anyof = defineTool({
    ...base,
    name: 'u',
    effect: 'read',
    inputSchema: {
      type: 'object',
      anyOf: [
        { properties: { path: { type: 'string' } }, required: ['path'] },
        { properties: { url: { type: 'string' } }, required: ['url'] },
      ],
    },
    oldNames: { filePath: 'path' },
  });
  const refd = defineTool({
    ...base,
    name: 'v',
    effect: 'read',
    inputSchema: {
      $ref: '#/$defs/A',
      $defs: { A: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } },
    },
    oldNames: { filePath: 'path' },
  });
  t('loose both', () => loose.validateInput({ filePath: 'a', path: 'b' }));
  for (const tools of [[tool, rename], [loose], [anyof], [refd]]) {
    const h = t('harness', () => createHarness({ tools: tools as any })) as any;
    if (!h) continue;
    t('declarations', () => String(h.declarations()).split('interface Tools')[1]);
    const n = tools[0]!.name;
    for (const s of [
      `return await tools.${n}({ filePath: 'x' })`,
      `return await tools.${n}({ filePath: 'x', path: 'y' })`,
      `const p = { filePath: 'x' }; return await tools.${n}(p)`,
      `return await tools.${n}({ filePath: 5 })`,
      `return await tools.${n}({ filePath: 'x', max: null })`,
      `return await tools.${n}({ filePath: null })`,
      `return await tools.${n}({ filePath: 'x', file: 'z' })`,
      `return await tools.${n}({ filePaht: 'x' })`,
    ]) {
      const o = await h.runScript(s);
      console.log(
        n,
        s,
        '\n   =>',
        JSON.stringify([
          o.status,
          o.value,
          o.error?.code,
          o.error?.message,
          o.error?.hint,
          o.diagnostics.map((d: any) => d.code + ': ' + d.message),
        ]),
      );
    }
    await h.close();
  }
}, 60000);
