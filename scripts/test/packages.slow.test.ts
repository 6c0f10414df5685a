import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VERSIONS } from '../packaging/versions.mjs';
import { npmCall, root } from '../prepare.mjs';

interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, { types: string; default: string } | string>;
}

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

const published = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name))
  .filter((folder) => existsSync(join(folder, 'package.json')) && manifestOf(folder).private !== true);

/** The files that npm would publish. */
function filesOf(folder: string): string[] {
  const [command, args] = npmCall(['pack', '--dry-run', '--json', '--ignore-scripts']) as [string, string[]];
  const text = execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [report] = JSON.parse(text) as [{ files: { path: string }[] }];
  return report.files.map(({ path }) => path);
}

describe.each(published.map((folder) => [manifestOf(folder).name, folder]))('the package %s', (_name, folder) => {
  const files = filesOf(folder);

  it('contains its readme and the licence', () => {
    expect(files).toContain('README.md');
    expect(files).toContain('LICENSE');
    expect(readFileSync(join(folder, 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'));
  });

  it('contains all that it exports', () => {
    const exported = Object.values(manifestOf(folder).exports ?? {}).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    expect(files).toEqual(expect.arrayContaining(exported.map((path) => path.replace('./', ''))));
  });

  it('contains no marker of a build and no map whose source it lacks', () => {
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((path) => /\.(?:map|tsbuildinfo)$|(?:^|\/)\.built$/u.test(path))).toEqual([]);
    // Output of a source that no longer exists is not in a clean checkout.
    const hasSource = (path: string) => existsSync(join(folder, path.replace(/^dist/u, 'src').replace(/js$/u, 'ts')));
    const mapped = files.filter(
      (path) =>
        path.endsWith('.js') &&
        hasSource(path) &&
        /^\/\/# sourceMappingURL=/mu.test(readFileSync(join(folder, path), 'utf8')),
    );
    expect(mapped).toEqual([]);
  });
});

describe('the page about bundlers', () => {
  const page = readFileSync(join(root, 'docs/how-to/bundlers.md'), 'utf8');
  const bundlers = ['bun', 'esbuild', 'next', 'next 15', 'rolldown', 'vite', 'webpack'];

  it.each(bundlers)('names the tried version of %s', (name) => {
    expect(page).toContain(` ${VERSIONS[name]}`);
  });
});
