import { linkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, type Workspace } from '#tools/files/workspace.js';
import { sha256 } from '#tools/files/content-hash.js';
import { confirmMatches } from '#tools/search/confirm-matches.js';
import { fileSearch } from '#tools/search/file-search.js';
import { grepFiles } from '#tools/search/grep-files.js';
import { refusal } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

let parent: string;
let workspace: Workspace;

beforeAll(() => {
  parent = newFolder({
    'outside/secret.ts': 'needle outside\n',
    'inside/.gitignore': 'dist/\n*.log\nnode_modules/\n!keep.log\n',
    'inside/src/a.ts': 'const one = 1;\nconst needle = "é needle";\r\nneedle\n',
    'inside/src/b.js': 'needle\n',
    'inside/src/userController.ts': 'export {};\n',
    'inside/src/deep/c.test.ts': 'needle\n',
    'inside/src/[id].tsx': '',
    'inside/dist/bundle.ts': 'needle\n',
    'inside/packages/x/node_modules/y/index.ts': 'needle\n',
    'inside/debug.log': 'needle\n',
    'inside/keep.log': 'needle\n',
    'inside/.hidden.ts': 'needle\n',
    'inside/.config/x.ts': 'needle\n',
    'inside/binary.bin': Buffer.concat([Buffer.from('needle\n'), Buffer.alloc(10)]),
    'inside/mark.txt': '\uFEFFneedle first\nneedle second\n',
    'inside/latin.txt': Buffer.from('caf\xe9 needle\n', 'latin1'),
    'inside/no-end.txt': 'needle',
    'inside/-dash.txt': 'needle --pre=evil\n',
    'inside/min.js': `${'x'.repeat(3000)}needle${'y'.repeat(3000)}\n`,
  });
  const inside = join(parent, 'inside');
  symlinkSync('../outside', join(inside, 'link-out'));
  symlinkSync('../outside/secret.ts', join(inside, 'file-out.ts'));
  linkSync(join(parent, 'outside/secret.ts'), join(inside, 'hard.ts'));
  workspace = createWorkspace({ roots: inside });
});

describe('grepFiles', () => {
  it('finds files by content, sorted by path; ignored, hidden, binary and linked files are omitted', async () => {
    const result = await grepFiles(workspace, { pattern: 'needle' });
    expect(result.files).toEqual([
      '-dash.txt',
      'keep.log',
      'latin.txt',
      'mark.txt',
      'min.js',
      'no-end.txt',
      'src/a.ts',
      'src/b.js',
      'src/deep/c.test.ts',
    ]);
    expect(result).toMatchObject({ success: true, truncated: false });
    expect(result.matches).toBeUndefined();
    expect(result.content).toContain('left out: 1');
  });

  it('returns each matching line with its place on request', async () => {
    const result = await grepFiles(workspace, { pattern: 'needle', include: 'src/*.{ts,js}', matches: true });
    expect(result.matches).toEqual([
      { path: 'src/a.ts', line: 2, column: 7, text: 'const needle = "é needle";' },
      { path: 'src/a.ts', line: 3, column: 1, text: 'needle' },
      { path: 'src/b.js', line: 1, column: 1, text: 'needle' },
    ]);
    expect(result.content.split('\n')[0]).toBe('src/a.ts:2:7: const needle = "é needle";');
    expect(result.files).toEqual(['src/a.ts', 'src/b.js']);
  });

  it('counts columns in characters, and shows long lines around the match', async () => {
    const accent = await grepFiles(workspace, { pattern: ' needle"', matches: true, path: 'src/a.ts' });
    expect(accent.matches![0]!.column).toBe(18);
    const long = await grepFiles(workspace, { pattern: 'needle', matches: true, path: 'min.js' });
    expect(long.matches![0]).toMatchObject({ line: 1, column: 3001 });
    expect(long.matches![0]!.text).toMatch(/^…x{100}needley{394}…$/);
  });

  it('reads files with a byte order mark, with other bytes, and without a final line end', async () => {
    const result = await grepFiles(workspace, { pattern: 'needle', matches: true, include: '*.txt' });
    expect(result.matches!.map(({ path, line }) => `${path}:${line}`)).toEqual([
      '-dash.txt:1',
      'latin.txt:1',
      'mark.txt:1',
      'mark.txt:2',
      'no-end.txt:1',
    ]);
  });

  it.each(['*', '**', '**/*', '*.ts', 'packages/**', '**/*.{ts,log}', '[a-z]*', '.*'])(
    'does not search ignored or hidden files with include %s',
    async (include) => {
      const { files } = await grepFiles(workspace, { pattern: 'needle', include });
      for (const file of files) expect(file).not.toMatch(/^dist|node_modules|debug|hidden|config/);
    },
  );

  it('searches an ignored or hidden folder when it is named', async () => {
    expect((await grepFiles(workspace, { pattern: 'needle', path: 'dist' })).files).toEqual(['dist/bundle.ts']);
    expect((await grepFiles(workspace, { pattern: 'needle', path: '.config', include: '*.ts' })).files).toEqual([
      '.config/x.ts',
    ]);
    expect((await grepFiles(workspace, { pattern: 'needle', path: 'a.ts', cwd: 'src' })).files).toEqual(['src/a.ts']);
  });

  it('stops at the limit and reports that there is more', async () => {
    const result = await grepFiles(workspace, { pattern: 'needle', limit: 2 });
    expect(result.files).toHaveLength(2);
    expect(result.truncated).toBe(true);
    expect(result.content).toContain('there are more');
    expect((await grepFiles(workspace, { pattern: 'needle', limit: 9, include: 'src/**' })).truncated).toBe(false);
  });

  it('returns an empty result without a match', async () => {
    expect(await grepFiles(workspace, { pattern: 'not anywhere at all' })).toEqual({
      success: true,
      content: 'No matches found.',
      files: [],
      truncated: false,
    });
    expect((await grepFiles(workspace, { pattern: 'needle', path: 'src', include: '*.rs' })).files).toEqual([]);
  });

  it('reads a pattern that begins like an option as a pattern', async () => {
    expect((await grepFiles(workspace, { pattern: '--pre=evil' })).files).toEqual(['-dash.txt']);
    expect((await grepFiles(workspace, { pattern: '-e' })).files).toEqual([]);
    expect((await grepFiles(workspace, { pattern: 'needle', path: '-dash.txt' })).files).toEqual(['-dash.txt']);
  });

  it('ignores case only on request', async () => {
    expect((await grepFiles(workspace, { pattern: 'NEEDLE' })).files).toEqual([]);
    expect((await grepFiles(workspace, { pattern: 'NEEDLE', ignoreCase: true, path: 'src' })).files.length).toBe(3);
  });

  it('ignores case for patterns without capitals on request', async () => {
    const find = (pattern: string) => grepFiles(workspace, { pattern, smartCase: true, path: 'src', matches: true });
    expect((await find('usercontroller|CONST')).files).toEqual([]);
    expect((await find('const')).files).toEqual(['src/a.ts']);
    expect((await find('Const')).files).toEqual([]);
  });

  it('reads plain text not as a pattern', async () => {
    expect((await grepFiles(workspace, { pattern: '"é', literal: true })).files).toEqual(['src/a.ts']);
    expect((await grepFiles(workspace, { pattern: 'one = 1;|(', literal: true })).files).toEqual([]);
    expect((await grepFiles(workspace, { pattern: '= 1;', literal: true })).files).toEqual(['src/a.ts']);
  });

  it('excludes files and folders on request', async () => {
    const { files } = await grepFiles(workspace, { pattern: 'needle', path: 'src', exclude: ['deep', '*.js'] });
    expect(files).toEqual(['src/a.ts']);
    expect(
      (await grepFiles(workspace, { pattern: 'needle', include: 'src/**', exclude: ['src/deep/**'] })).files,
    ).toEqual(['src/a.ts', 'src/b.js']);
  });

  it('shows the lines around each match on request, from the file that was verified', async () => {
    const result = await grepFiles(workspace, { pattern: '^needle', path: 'src/a.ts', context: 2 });
    expect(result.matches).toEqual([
      {
        path: 'src/a.ts',
        line: 3,
        column: 1,
        text: 'needle',
        before: ['const one = 1;', 'const needle = "é needle";'],
        after: [],
      },
    ]);
    expect(result.content).toBe(
      'src/a.ts-1- const one = 1;\nsrc/a.ts-2- const needle = "é needle";\nsrc/a.ts:3:1: needle',
    );
    const marked = await grepFiles(workspace, { pattern: 'second', path: 'mark.txt', context: 1 });
    expect(marked.matches![0]).toMatchObject({ before: ['\uFEFFneedle first'.slice(1)], after: [] });
    const first = await grepFiles(workspace, { pattern: 'one', path: 'src/a.ts', context: 1 });
    expect(first.matches![0]).toMatchObject({ before: [], after: ['const needle = "é needle";'] });
  });

  it('shows no part of a line around a match as if it were the whole line', async () => {
    const lines = ['needle', ...Array.from({ length: 20 }, (_, index) => `${index} ${'x'.repeat(900)} end`)];
    const own = createWorkspace({ roots: newFolder({ 'long.txt': `${lines.join('\n')}\n` }) });
    const { matches } = await grepFiles(own, { pattern: '^needle', context: 20 });
    const whole = await grepFiles(own, { pattern: 'x', matches: true });
    const texts = whole.matches!.map(({ text }) => text);
    const { after } = matches![0]!;
    expect(after!.length).toBeGreaterThan(10);
    for (const line of after!) expect(texts).toContain(line);
  });

  it('finds matches across lines only on request, and reports their start and end', async () => {
    const pattern = 'one = 1;\\n(?s:.)*?é';
    const refused = await refusal(() => grepFiles(workspace, { pattern, path: 'src' }));
    expect(refused.data['reason']).toBe('bad_pattern');
    expect(refused.message).toContain('set multiline: true');
    const result = await grepFiles(workspace, { pattern, path: 'src', multiline: true, matches: true, context: 1 });
    expect(result.matches).toEqual([
      {
        path: 'src/a.ts',
        line: 1,
        column: 7,
        endLine: 2,
        text: 'const one = 1;\nconst needle = "é needle";',
        before: [],
        after: ['needle'],
      },
    ]);
  });

  it('replaces ripgrep’s advice about command-line options', async () => {
    const behind = await refusal(() => grepFiles(workspace, { pattern: '(?<=a)b' }));
    expect(behind.message).toMatch(/look-around[^]*filter matches/);
    const group = await refusal(() => grepFiles(workspace, { pattern: 'a[' }));
    expect(group.message).toMatch(/unclosed character class[^]*literal: true/);
    for (const { message } of [behind, group]) expect(message).not.toMatch(/--\w|PCRE2/);
  });

  it('returns the same first files with any number of threads', async () => {
    const many = newFolder(
      Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`d${index % 7}/f${index}.txt`, 'needle\n'])),
    );
    const wide = createWorkspace({ roots: many });
    const all = (await grepFiles(wide, { pattern: 'needle', limit: 2000 })).files;
    expect(all).toHaveLength(600);
    for (const limit of [1, 20, 300]) {
      const part = await grepFiles(wide, { pattern: 'needle', limit });
      expect(part.files).toEqual(all.slice(0, limit));
      expect(part.truncated).toBe(true);
    }
  });

  it('stays small enough for a result and reports that there is more', async () => {
    const folder = newFolder({ 'wide.txt': `${'needle '.repeat(70)}\n`.repeat(3000) });
    const wish = { pattern: 'needle', limit: 2000, context: 5 };
    const result = await grepFiles(createWorkspace({ roots: folder }), wish);
    expect(result.truncated).toBe(true);
    expect(JSON.stringify(result).length).toBeLessThan(1_000_000);
    expect(result.matches!.length).toBeGreaterThan(20);
  });

  it('rejects a bad pattern with ripgrep’s message', async () => {
    const error = await refusal(() => grepFiles(workspace, { pattern: 'a(' }));
    expect(error.data['reason']).toBe('bad_pattern');
    expect(error.message).toMatch(/regex parse error[^]*unclosed group/);
    expect((await refusal(() => grepFiles(workspace, { pattern: 'a', include: '[' }))).data['reason']).toBe(
      'bad_pattern',
    );
  });

  it.each([
    ['..', 'outside'],
    ['/etc', 'outside'],
    ['link-out', 'link_outside'],
    ['file-out.ts', 'link_outside'],
    ['none', 'missing'],
    ['a\0b', 'bad_path'],
  ])('rejects a search of %j', async (path, reason) => {
    expect((await refusal(() => grepFiles(workspace, { pattern: 'needle', path }))).data['reason']).toBe(reason);
  });

  it('is ended by an abort', async () => {
    expect((await refusal(() => grepFiles(workspace, { pattern: 'x' }, AbortSignal.abort()))).data['reason']).toBe(
      'aborted',
    );
    const controller = new AbortController();
    const search = refusal(() => grepFiles(workspace, { pattern: 'needle' }, controller.signal));
    controller.abort();
    expect((await search).data['reason']).toBe('aborted');
  });

  it('ignores the host’s configuration', async () => {
    const config = join(parent, 'ripgreprc');
    writeFileSync(config, '--hidden\n--no-ignore\n');
    process.env['RIPGREP_CONFIG_PATH'] = config;
    try {
      expect((await grepFiles(workspace, { pattern: 'needle', include: '*.ts' })).files).toEqual([
        'src/a.ts',
        'src/deep/c.test.ts',
      ]);
    } finally {
      delete process.env['RIPGREP_CONFIG_PATH'];
    }
  });
});

describe('a match that ripgrep reports', () => {
  const line = 'needle\n';
  const reported = {
    path: 'src/b.js',
    inside: 'b.js',
    line: 1,
    endLine: 1,
    column: 1,
    text: 'needle',
    offset: 0,
    length: line.length,
  };

  it('counts only if a verified file has the same bytes there', async () => {
    const genuine = { ...reported, sha256: sha256(Buffer.from(line)) };
    const foreign = { ...reported, sha256: sha256(Buffer.from('SECRET\n')) };
    const gone = { ...genuine, path: 'gone.txt' };
    const linked = { ...genuine, path: 'link-out/secret.ts' };
    expect(await confirmMatches(workspace, [genuine, foreign, gone, linked], { enough: 9 })).toEqual({
      confirmed: [{ ...genuine, before: [], after: [] }],
      rejected: 3,
    });
  });
});

describe('fileSearch', () => {
  it('ranks paths by similarity and reports the matching characters', async () => {
    const { files, truncated } = await fileSearch(workspace, { pattern: 'usrctl' });
    expect(files[0]!.path).toBe('src/userController.ts');
    expect(files[0]!.score).toBeGreaterThan(0);
    expect(files[0]!.indices.map((index) => files[0]!.path[index]!.toLowerCase()).join('')).toBe('usrctl');
    expect(truncated).toBe(false);
  });

  it('omits ignored, hidden and linked files', async () => {
    const { files } = await fileSearch(workspace, { pattern: 'ts', limit: 2000 });
    const paths = files.map(({ path }) => path);
    expect(paths).toContain('src/a.ts');
    for (const path of paths) expect(path).not.toMatch(/^dist|node_modules|hidden|config|link-out|file-out|debug/);
  });

  it('reads a glob as a glob, and brackets alone as a name', async () => {
    expect((await fileSearch(workspace, { pattern: '*.test.ts' })).files).toEqual([
      { path: 'src/deep/c.test.ts', score: 1, indices: [] },
    ]);
    expect((await fileSearch(workspace, { pattern: 'src/*.{js,tsx}' })).files.map(({ path }) => path)).toEqual([
      'src/[id].tsx',
      'src/b.js',
    ]);
    expect((await fileSearch(workspace, { pattern: '[id].tsx' })).files[0]!.path).toBe('src/[id].tsx');
  });

  it('searches below a folder, with paths that other tools can use', async () => {
    const { files } = await fileSearch(workspace, { pattern: 'ctest', path: 'src/deep' });
    expect(files[0]!.path).toBe('src/deep/c.test.ts');
    expect(files[0]!.indices.map((index) => files[0]!.path[index]).join('')).toBe('ctest');
    expect(
      (await fileSearch(workspace, { pattern: '*.ts', path: 'src', exclude: ['deep', 'user*'] })).files.map(
        ({ path }) => path,
      ),
    ).toEqual(['src/a.ts']);
  });

  it('respects the limit and reports that there is more', async () => {
    const result = await fileSearch(workspace, { pattern: 's', limit: 1 });
    expect(result.files).toHaveLength(1);
    expect(result.truncated).toBe(true);
  });

  it('returns an empty result without a match', async () => {
    expect(await fileSearch(workspace, { pattern: 'zzzzqqqq' })).toEqual({ files: [], truncated: false });
    expect((await fileSearch(createWorkspace({ roots: newFolder() }), { pattern: 'a' })).files).toEqual([]);
  });

  it.each([
    ['..', 'outside'],
    ['link-out', 'link_outside'],
    ['src/a.ts', 'not_a_folder'],
    ['none', 'missing'],
  ])('rejects a search in %j', async (path, reason) => {
    expect((await refusal(() => fileSearch(workspace, { pattern: 'a', path }))).data['reason']).toBe(reason);
  });
});
