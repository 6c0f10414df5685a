import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scene, script } from './scene.js';

const WRITE = script("await tools.exec({ command: ['touch', 'made.txt'] }); return 'made'", 'I make it.');

function waitingScript(shown: string): string {
  return /approvals show (scr_\S+)/u.exec(shown)![1]!;
}

describe('a script of a conversation that waits for a person', () => {
  it('ends the run with 3 and the commands that decide; approved, it goes on, and the model with it', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    expect(first.status).toBe(3);
    expect(first.stdout).toContain('needs your approval');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(false);
    scene.model({ parts: [{ type: 'text', text: 'It is made.' }], expect: ['made'] });
    const resumed = await scene.toolscript(['resume', waitingScript(first.stdout), '--approve']);
    expect({ status: resumed.status, stderr: resumed.stderr }).toEqual({ status: 0, stderr: '' });
    expect(resumed.stdout).toContain('It is made.');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(true);
  });

  it('is denied by the same road, and the model reads why', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    scene.model({ parts: [{ type: 'text', text: 'Then not.' }], expect: ['not on a Friday'] });
    const resumed = await scene.toolscript([
      'resume',
      waitingScript(first.stdout),
      '--deny',
      '--note',
      'not on a Friday',
    ]);
    expect(resumed.stdout).toContain('Then not.');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(false);
  });

  it('lets another prompt come first; its outcome is news then', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    const between = await scene.chat(
      'Something else',
      [{ parts: [{ type: 'text', text: 'Yes?' }], expect: ['Script suspended', 'Something else'] }],
      ['--continue'],
    );
    expect(between).toMatchObject({ status: 0, stderr: '' });
    scene.model({ parts: [{ type: 'text', text: 'Now it is made.' }], expect: ['<tool-output', 'made'] });
    const resumed = await scene.toolscript(['resume', waitingScript(first.stdout), '--approve']);
    expect({ status: resumed.status, stderr: resumed.stderr }).toEqual({ status: 0, stderr: '' });
    expect(resumed.stdout).toContain('Now it is made.');
  });
});
