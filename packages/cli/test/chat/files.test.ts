import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scene, script, text } from './scene.js';

const AUTO = ['--approve', 'auto'];

describe('the File Cabinet of a conversation', () => {
  it('stores files and values for later turns, and announces their keys once', async () => {
    const scene = new Scene();
    const saved = await scene.chat(
      'Save it.',
      [
        script(`await tools.store.set({ key: 'k', value: 7, scope: 'principal' });
          return (await tools.saveToFC({ name: 'plan.md', text: 'the plan' })).version;`),
        text('Saved.'),
      ],
      AUTO,
    );
    expect(saved.status, saved.stderr).toBe(0);
    const code = `await tools.writeFile({ path: 'out.md', fileKey: 'plan.md' });
      return (await tools.store.get({ key: 'k', scope: 'principal' })).value;`;
    const written = await scene.chat('Write it.', [script(code), text('Written.')], [...AUTO, '--continue', '--json']);
    expect(written.status, written.stderr).toBe(0);
    expect(readFileSync(join(scene.workspace, 'out.md'), 'utf8')).toBe('the plan');
    expect(written.stdout).toContain('"result":7');
    expect(written.stdout).toContain(String.raw`- \"plan.md\" version 1, 8 bytes`);
    const third = await scene.chat('Again.', [text('Yes.')], [...AUTO, '--continue', '--json']);
    expect(third.status, third.stderr).toBe(0);
    expect(third.stdout).not.toContain('plan.md');
    const other = await scene.chat('Other.', [script(`return (await tools.listFC()).files;`), text('None.')], AUTO);
    expect(other.stdout).not.toContain('plan.md');
  });

  it('exists only in a conversation: other commands ignore the names of its tools', async () => {
    const scene = new Scene();
    const named = await scene.run(['tools', '--json', '--tools', 'readFile,saveToFC,store']);
    expect(named.status, named.stderr).toBe(0);
    expect((JSON.parse(named.stdout) as { name: string }[]).map(({ name }) => name)).toEqual(['readFile']);
  });
});
