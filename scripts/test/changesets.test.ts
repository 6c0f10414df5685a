import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));

it('every changeset names packages of this repository', () => {
  const packages = readdirSync(join(root, 'packages')).map(
    (folder) =>
      (JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')) as { name: string }).name,
  );
  const named = readdirSync(join(root, '.changeset'))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .flatMap((file) => {
      const [, head = ''] = readFileSync(join(root, '.changeset', file), 'utf8').split('---\n');
      return [...head.matchAll(/^['"]?([^'":]+)['"]?: (?:patch|minor|major)$/gmu)].map(
        ([, name]) => `${file}: ${name}`,
      );
    });
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((line) => !packages.some((name) => line.endsWith(`: ${name}`)))).toEqual([]);
});
