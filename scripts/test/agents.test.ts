import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const page = readFileSync(join(root, 'AGENTS.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

const quoted = [...page.matchAll(/`([^`\n]+)`/gu)].map(([, text]) => text!);

describe('AGENTS.md', () => {
  it('has at most 60 lines', () => {
    expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  it('names paths that exist', () => {
    const inCore = (path: string) => path.replace(/^src\//u, 'packages/core/src/');
    const paths = quoted.filter((text) =>
      /^(?:packages|src|scripts|examples|bench|docs|design)(?:\/[\w./-]*)?$/u.test(text),
    );
    const links = [...page.matchAll(/\]\(([^)]+)\)/gu)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(15);
    expect([...paths, ...links].filter((path) => !existsSync(join(root, inCore(path))))).toEqual([]);
  });

  it('names commands that exist', () => {
    const commands = quoted.flatMap((text) => {
      const [, name, path] = /^npm (?:run )?([\w:-]+)(?: -- (\S+\/\S+))?/u.exec(text) ?? [];
      return name === undefined ? [] : [{ name, path: path ?? '' }];
    });
    expect(commands.length).toBeGreaterThan(7);
    expect(commands.filter(({ name, path }) => scripts[name] === undefined || !existsSync(join(root, path)))).toEqual(
      [],
    );
  });
});
