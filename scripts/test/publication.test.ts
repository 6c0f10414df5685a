import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageNames, publishedManifest } from '../publication.mjs';

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

it('every published package shows what scripts/publication.mjs says, and carries its changelog', () => {
  const names = packageNames();
  expect(names.length).toBeGreaterThan(8);
  for (const name of names) {
    const manifest = JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as { files: string[] };
    expect(manifest, `run: node scripts/publication.mjs && npx oxfmt packages/${name}/package.json`).toEqual(
      JSON.parse(publishedManifest(name)!),
    );
    expect(manifest.files, name).toContain('CHANGELOG.md');
  }
});

it('the public workflows run what this repository has: .ci/run, and scripts of package.json', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const commands = ['ci', 'release'].flatMap((name) => {
    const { jobs } = parse(readFileSync(`.github/workflows/${name}.yml`, 'utf8')) as Workflow;
    return Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.split('\n')));
  });
  expect(commands).toContain('bash .ci/run');
  const named = commands.flatMap((command) => /^npm (?:run )?(?!ci\b)([\w:]+)/u.exec(command)?.[1] ?? []);
  expect(named).not.toEqual([]);
  expect(named.filter((script) => !(script in scripts))).toEqual([]);
});
