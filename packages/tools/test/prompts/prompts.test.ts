import { createHarness } from '@toolscript/core';
import fc from 'fast-check';
import { link, mkdtemp, mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadPrompt, promptTools, readPromptFolder, type PromptFile, type PromptLibrary } from '@toolscript/tools';
import { fillTemplate, parseTemplate, templateVariables } from '#tools/prompts/template.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { memoryDocuments } from '@toolscript/service/stores';

const harnesses: { close(): Promise<void> }[] = [];
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(harnesses.splice(0).map((harness) => harness.close()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

function harnessWith(library: PromptLibrary) {
  const harness = createHarness({ ...sharedThreads(), tools: promptTools(library), approvals: 'auto' });
  harnesses.push(harness);
  return async (source: string, run: { threadId?: string; principal?: string } = {}) => {
    const { threadId = 'thr_a', principal = 'ada' } = run;
    const outcome = await harness.runScript(source, { threadId, principal });
    return outcome.status === 'completed' ? outcome.value : outcome;
  };
}

async function folderWith(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'prompts-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const file = (name: string, text: string): PromptFile => ({ name, text, file: `/${name}.md` });
const owner = { threadId: 'thr_a', principal: 'ada' };

describe('a prompt', () => {
  it('is filled exactly: every text around its variables, and every value, is unchanged', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('$&', '$1', '{', '{{', '{{a}}', '{{{{', '}}', '${a}', "$'", '\u2028', '😀', '{{{', '%s'),
    );
    const piece = fc.oneof(
      text.map((literal) => ({ literal })),
      fc.constantFrom('a', 'b', 'ñ_1').map((variable) => ({ variable })),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.array(text, { minLength: 3, maxLength: 3 }),
        (pieces, values) => {
          const filled = new Map([
            ['a', values[0]!],
            ['b', values[1]!],
            ['ñ_1', values[2]!],
          ]);
          // A brace that ends a literal would become part of the next pair: a space separates the pieces.
          const source = pieces.map((one) =>
            'variable' in one ? `{{ ${one.variable} }}` : one.literal.replaceAll('{{', '{{{{'),
          );
          const wanted = pieces.map((one) => ('variable' in one ? filled.get(one.variable) : one.literal));
          expect(fillTemplate(parseTemplate(source.join(' ')), filled)).toBe(wanted.join(' '));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('names each of its variables once', () => {
    expect(templateVariables(parseTemplate('{{b}} {{a}} {{ b }} {{{{c}}'))).toEqual(['b', 'a']);
  });

  it('is refused with the line of braces that start no variable', () => {
    for (const braces of ['{{', '{{}}', '{{1a}}', '{{a b}}', '{{{a}}}', '{{a.b}}', '{{#each a}}'])
      expect(() => parseTemplate(`first\n${braces}`), braces).toThrow(
        /^"\{\{" in line 2 of the prompt starts no variable/u,
      );
  });

  it('names all missing, unknown and wrong variables in one error', async () => {
    const run = harnessWith({ documents: memoryDocuments() });
    const outcome = await run(`
      await tools.prompts.save({ name: 'p', text: '{{city}} {{days}} {{tone}}', variables: {
        type: 'object', required: ['city', 'days'],
        properties: { city: { type: 'string' }, days: { type: 'integer' }, tone: { enum: ['dry', 'warm'], default: 'dry' } } } });
      try { await tools.prompts.get({ name: 'p', variables: { days: 'two', town: 1 } }) }
      catch (error) { return { message: error.message, data: error.data } }`);
    expect(outcome).toMatchObject({ data: { missing: ['city'], unknown: ['town'] } });
    expect((outcome as { message: string }).message).toMatch(
      /^The variables of the prompt "p" are wrong: missing: city; unknown: town; wrong: days \(.+\)\. Its variables are: city, days, tone\.$/u,
    );
  });

  it('uses the defaults of its schema and needs all variables without one', async () => {
    const run = harnessWith({ documents: memoryDocuments() });
    const value = await run(`
      await tools.prompts.save({ name: 'with', text: '{{a}}-{{b}}', variables: {
        type: 'object', properties: { a: { type: 'number' }, b: { type: 'array', default: [1] } } } });
      await tools.prompts.save({ name: 'without', text: '{{a}}-{{b}}' });
      return [
        (await tools.prompts.get({ name: 'with' })).text,
        (await tools.prompts.get({ name: 'without', variables: { a: '{{b}}', b: true } })).text,
        await tools.prompts.get({ name: 'without', variables: { a: 1 } }).catch((error) => error.message),
      ];`);
    expect(value).toEqual(['-[1]', '{{b}}-true', expect.stringContaining('missing: b.')]);
  });

  it('with hostile names of variables reads no inherited member', async () => {
    const documents = memoryDocuments();
    await documents.save({
      scope: { kind: 'thread', id: 'thr_a' },
      kind: 'prompt',
      name: 'p',
      text: '{{constructor}}{{__proto__}}',
    });
    await expect(loadPrompt({ documents }, { name: 'p' }, owner)).rejects.toThrow(/missing: /u);
  });

  it('whose schema does not declare a variable of its text is not saved', async () => {
    const run = harnessWith({ documents: memoryDocuments() });
    const message = await run(`return await tools.prompts
      .save({ name: 'p', text: '{{a}} {{b}}', variables: { type: 'object', properties: { a: {} } } })
      .catch((error) => error.message)`);
    expect(message).toBe(
      'The schema of the variables has no properties for: b. Add them, or remove these variables from the text.',
    );
  });
});

describe('saved prompts', () => {
  it('have versions, and the narrowest scope comes first', async () => {
    const run = harnessWith({ documents: memoryDocuments(), workspace: 'w' });
    await run(`for (const [scope, text] of [['workspace', 'w1'], ['principal', 'p1'], ['thread', 't1'], ['thread', 't2']] as const)
      await tools.prompts.save({ name: 'p', text, scope })`);
    const value = await run(`
      const get = async (args: { version?: number, scope?: 'workspace' }) => (await tools.prompts.get({ name: 'p', ...args })).text;
      return [await get({}), await get({ version: 1 }), await get({ scope: 'workspace' })]`);
    expect(value).toEqual(['t2', 't1', 'w1']);
    expect(await run("return (await tools.prompts.get({ name: 'p' })).scope", { threadId: 'thr_b' })).toBe('principal');
    expect(
      await run("return (await tools.prompts.get({ name: 'p' })).text", { threadId: 'thr_b', principal: 'eve' }),
    ).toBe('w1');
    expect(await run('return (await tools.prompts.list({})).map(({ scope, version }) => [scope, version])')).toEqual([
      ['thread', 2],
      ['principal', 1],
      ['workspace', 1],
    ]);
    expect(await run("return await tools.prompts.delete({ name: 'p' })")).toEqual({ deleted: true });
    expect(await run("return (await tools.prompts.get({ name: 'p' })).scope")).toBe('principal');
  });

  it('and files of the same name never hide each other silently', async () => {
    const documents = memoryDocuments();
    const save = (name: string) =>
      documents.save({
        scope: { kind: 'thread', id: 'thr_a' },
        kind: 'prompt',
        name,
        text: 'saved',
        about: { names: [] },
      });
    await save('both');
    const run = harnessWith({ documents, files: [file('both', 'of the file'), file('only', 'of the file')] });
    expect(await run("return await tools.prompts.get({ name: 'both' }).catch((error) => error.message)")).toBe(
      'Two prompts have the name "both": a file, and a saved one. Name one of them with scope: "file" or scope: "thread".',
    );
    expect(
      await run(`return [(await tools.prompts.get({ name: 'both', scope: 'file' })).text,
        (await tools.prompts.get({ name: 'both', scope: 'thread' })).text]`),
    ).toEqual(['of the file', 'saved']);
    expect(
      await run("return await tools.prompts.save({ name: 'only', text: 'x' }).catch((error) => error.message)"),
    ).toMatch(/^A file has the prompt "only"/u);
  });

  it('reach a host as they reach a script', async () => {
    const library = { files: [file('greet', 'Hello {{name}}!')] };
    expect(await loadPrompt(library, { name: 'greet', variables: { name: '$&' } }, owner)).toEqual({
      name: 'greet',
      text: 'Hello $&!',
      scope: 'file',
    });
    await expect(loadPrompt(library, { name: 'great' }, owner)).rejects.toThrow(
      'There is no prompt "great". Call tools.prompts.list({}) to see the prompts.',
    );
  });
});

describe('a folder of prompts', () => {
  it('gives the name, description, variables and text of each Markdown file', async () => {
    const folder = await folderWith({
      'plain.md': 'Just {{what}}.\n',
      'rich.md':
        '\uFEFF---\nname: review\ndescription: Reviews a change\nvariables:\n  type: object\n  properties:\n    lines: { type: integer }\n---\nRead {{lines}} lines.\n---\n',
      'notes.txt': '{{',
    });
    const warnings: string[] = [];
    const prompts = await readPromptFolder(folder, (message) => warnings.push(message));
    expect(warnings).toEqual([]);
    expect(prompts).toMatchObject([
      { name: 'plain', text: 'Just {{what}}.\n' },
      { name: 'review', description: 'Reviews a change', text: 'Read {{lines}} lines.\n---\n' },
    ]);
    expect(await loadPrompt({ files: prompts }, { name: 'review', variables: { lines: 3 } }, owner)).toMatchObject({
      text: 'Read 3 lines.\n---\n',
    });
    expect(await readPromptFolder(join(folder, 'absent'), () => {})).toEqual([]);
  });

  it('reports each invalid file in one sentence, and gives the others', async () => {
    const folder = await folderWith({
      'a.md': 'fine',
      'b.md': '---\nname: a\n---\nthe same name',
      'c.md': '{{',
      'd.md': '---\nnames: x\n---\n',
      'e.md': '---\n"\n---\n',
      '1.md': 'no name',
    });
    await mkdir(join(folder, 'f.md'));
    const warnings: string[] = [];
    const prompts = await readPromptFolder(folder, (message) => warnings.push(message.replaceAll(folder, '')));
    expect(prompts.map(({ name }) => name)).toEqual(['a']);
    expect(warnings.map((message) => message.slice(0, 34))).toEqual([
      '/1.md has no valid name. Rename th',
      '/b.md and /a.md have the same name',
      '/c.md: "{{" in line 1 of the promp',
      '/d.md: the front matter is wrong a',
      '/e.md: the front matter is not YAM',
      '/f.md is not a file. Remove it.',
    ]);
  });
});

describe('a folder of prompts in which scripts may write', () => {
  it('gives no file that is a link, is reached through one, or has a second name', async () => {
    const outside = await folderWith({ 'secret.md': 'a secret', 'second.md': 'another' });
    const folder = await folderWith({ 'own.md': 'fine' });
    await symlink(join(outside, 'secret.md'), join(folder, 'linked.md'));
    await link(join(outside, 'second.md'), join(folder, 'named.md'));
    await symlink(outside, join(folder, 'deep'));
    const read = async (path: string) => {
      const warnings: string[] = [];
      const prompts = await readPromptFolder(path, (message) => warnings.push(message), {
        inside: await realpath(folder),
      });
      return [prompts.map(({ name }) => name), warnings.length];
    };
    expect(await read(await realpath(folder))).toEqual([['own'], 2]);
    expect(await read(join(await realpath(folder), 'deep'))).toEqual([[], 2]);
    expect((await readPromptFolder(folder, () => {})).map(({ name }) => name)).toEqual(['linked', 'named', 'own']);
  });
});
