import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createExec } from '#tools/exec/exec.js';
import { productFilesIn } from '#tools/files/product-folders.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { refusal } from '../support/temporary-folder.js';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

const manifest = (...dependencies: string[]): string =>
  JSON.stringify({ dependencies: Object.fromEntries(dependencies.map((name) => [name, '1'])) });

/** A project in which the program is installed, next to a package of the project's own. */
function installed(): string {
  return newFolder({
    'node_modules/@toolscript/tools/package.json': manifest('@vscode/ripgrep', 'zod'),
    'node_modules/@toolscript/tools/dist/index.js': '',
    'node_modules/@vscode/ripgrep/package.json': JSON.stringify({ optionalDependencies: { '@vscode/native': '1' } }),
    'node_modules/@vscode/native/package.json': '{}',
    'node_modules/@vscode/native/bin/rg': 'ripgrep',
    'node_modules/zod/package.json': '{}',
    'node_modules/other/package.json': '{}',
    'a.txt': '',
  });
}

const within = (folder: string, paths: readonly string[]): string[] =>
  paths.map((path) => path.slice(folder.length + 1)).toSorted();

describe('the files of the program in a workspace', () => {
  it('are its packages, the files that these load and start, and the places that take precedence', () => {
    const folder = installed();
    const { present, absent } = productFilesIn([folder], join(folder, 'node_modules/@toolscript/tools/dist/index.js'));
    const below = (path: string): string => `node_modules/${path}`;
    expect(within(folder, present)).toEqual(
      ['@toolscript/tools', '@vscode', '@vscode/native', '@vscode/ripgrep', 'zod'].map(below),
    );
    expect(within(folder, absent)).toContain(below('@toolscript/node_modules/zod'));
    expect(within(folder, absent)).not.toContain(below('zod'));
  });

  it('are the published ones of a package in development, and the links to it', () => {
    const folder = newFolder({
      'packages/tools/package.json': JSON.stringify({
        files: ['dist', '!x'],
        dependencies: { '@toolscript/core': '1' },
      }),
      'packages/tools/dist/index.js': '',
      'packages/tools/src/index.ts': '',
      'packages/core/package.json': '{}',
      'node_modules/@toolscript/x': '',
    });
    symlinkSync('../../packages/core', join(folder, 'node_modules/@toolscript/core'));
    const { present } = productFilesIn([folder], join(folder, 'packages/tools/dist/index.js'));
    expect(within(folder, present)).toEqual([
      'node_modules/@toolscript',
      'packages/core/package.json',
      'packages/tools/dist',
      'packages/tools/package.json',
    ]);
  });

  it('are also the links of a store, and Node.js itself', () => {
    const store = 'node_modules/.pnpm/tools@1/node_modules';
    const folder = newFolder({
      [`${store}/tools/package.json`]: manifest('zod'),
      'node_modules/.pnpm/zod@1/node_modules/zod/package.json': '{}',
      'bin/node': '',
    });
    symlinkSync('../../zod@1/node_modules/zod', join(folder, store, 'zod'));
    const { present } = productFilesIn([folder], join(folder, store, 'tools/index.js'), join(folder, 'bin/node'));
    expect(within(folder, present)).toContain(store);
    expect(within(folder, present)).toContain('bin/node');
  });

  it('are none if the program is elsewhere', () => {
    expect(productFilesIn([newFolder()])).toEqual({ present: [], absent: [] });
    expect(createWorkspace({ roots: newFolder() }).product.present).toEqual([]);
  });

  it('are not written by file tools', async () => {
    const folder = installed();
    const product = productFilesIn([folder], join(folder, 'node_modules/@toolscript/tools/dist/index.js'));
    const workspace = { ...createWorkspace({ roots: folder }), product };
    for (const path of ['node_modules/@vscode/native/bin/rg', 'node_modules/@toolscript/node_modules/zod/index.js']) {
      const error = await refusal(() => writeFile(workspace, { path, content: 'hostile' }));
      expect(error.data['reason']).toBe('protected');
    }
    expect(readFileSync(join(folder, 'node_modules/@vscode/native/bin/rg'), 'utf8')).toBe('ripgrep');
  });

  it.skipIf(sandboxProblem !== undefined)('are not written, replaced or shadowed by sandboxed commands', async () => {
    const folder = installed();
    const product = productFilesIn([folder], join(folder, 'node_modules/@toolscript/tools/dist/index.js'));
    const exec = createExec({ ...createWorkspace({ roots: folder }), product });
    for (const line of [
      'echo hostile > node_modules/@vscode/native/bin/rg',
      'mv node_modules/@vscode/native node_modules/@vscode/old',
      'mv node_modules/@vscode old',
      'mv node_modules old',
      'rm -rf node_modules/zod',
      'mkdir node_modules/@vscode/node_modules',
    ])
      expect(await exec({ command: ['sh', '-c', line] })).not.toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(folder, 'node_modules/@vscode/native/bin/rg'), 'utf8')).toBe('ripgrep');
    const shade = 'node_modules/@toolscript/node_modules/zod';
    const result = await exec({ command: ['sh', '-c', `mkdir -p ${shade}; echo x > node_modules/other/index.js`] });
    expect(result.exitCode).toBe(0);
    expect(result.quarantined).toHaveLength(1);
    expect(existsSync(join(folder, shade))).toBe(false);
  });

  it.skipIf(sandboxProblem !== undefined)('are the real ones of this program', async () => {
    const tools = createRequire(fileURLToPath(import.meta.resolve('#tools/index.js')));
    const packages = dirname(dirname(dirname(realpathSync(tools.resolve('@vscode/ripgrep')))));
    const exec = createExec(createWorkspace({ roots: packages }));
    const result = await exec({
      command: ['sh', '-c', 'for file in */bin/*; do test -w "$file" && echo "$file"; done'],
    });
    expect(result.stdout).toBe('');
    const file = join(packages, 'toolscript-test-file');
    await exec({ command: ['sh', '-c', `echo x > ${file}`] });
    expect(existsSync(file)).toBe(false);
  });
});
