import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM, said, start } from '../support/program.js';
import { Scene, script, text } from './scene.js';
import { hasExecSandbox } from '@toolscript/testkit/exec-sandbox';

const WRITE = script("await tools.exec({ command: ['touch', 'made.txt'] }); return 'made'", 'I make it.');

function waitingScript(shown: string): string {
  return /approvals show (scr_\S+)/u.exec(shown)![1]!;
}

describe('a script of a conversation that waits for the user', () => {
  it.skipIf(!hasExecSandbox)(
    'ends the run with 3 and the commands that decide; after the approval, script and model continue',
    async () => {
      const scene = new Scene();
      const first = await scene.chat('Make it', [WRITE]);
      expect(first.status).toBe(3);
      expect(first.stdout).toContain('needs your approval');
      expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(false);
      scene.model({ parts: [{ type: 'text', text: 'It is made.' }], expect: ['made'] });
      const resumed = await scene.run(['resume', waitingScript(first.stdout), '--approve']);
      expect({ status: resumed.status, stderr: resumed.stderr }).toEqual({ status: 0, stderr: '' });
      expect(resumed.stdout).toContain('It is made.');
      expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(true);
    },
  );

  it('can be denied in the same way, and the model reads why', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    scene.model({ parts: [{ type: 'text', text: 'Then not.' }], expect: ['not on a Friday'] });
    const resumed = await scene.run(['resume', waitingScript(first.stdout), '--deny', '--note', 'not on a Friday']);
    expect(resumed.stdout).toContain('Then not.');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(false);
  });

  it.skipIf(!hasExecSandbox)('allows another prompt first, and announces its outcome later', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    const between = await scene.chat(
      'Something else',
      [{ parts: [{ type: 'text', text: 'Yes?' }], expect: ['Script suspended', 'Something else'] }],
      ['--continue'],
    );
    expect(between).toMatchObject({ status: 0, stderr: '' });
    scene.model({ parts: [{ type: 'text', text: 'Now it is made.' }], expect: ['<tool-output', 'made'] });
    const resumed = await scene.run(['resume', waitingScript(first.stdout), '--approve']);
    expect({ status: resumed.status, stderr: resumed.stderr }).toEqual({ status: 0, stderr: '' });
    expect(resumed.stdout).toContain('Now it is made.');
  });

  it('is not resumed if scripts are disabled', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    for (const mode of ['disabled', 'dry-run']) {
      const resumed = await scene.toolscript(['resume', waitingScript(first.stdout), '--approve'], {
        env: { TOOLSCRIPT_MODE: mode },
      });
      expect(resumed.status).toBe(2);
      expect(resumed.stderr).toContain('so no script is resumed');
    }
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(false);
  });

  it.skipIf(!hasExecSandbox)('is resumed once: a later attempt reports that it has ended', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    scene.model(text('Made.'));
    const id = waitingScript(first.stdout);
    expect((await scene.run(['resume', id, '--approve'])).status).toBe(0);
    const again = await scene.run(['resume', id]);
    expect(again.status).toBe(1);
    expect(again.stderr).toContain('has already ended');
  });

  it.skipIf(!hasExecSandbox)('can be decided after its conversation was deleted: it continues without it', async () => {
    const scene = new Scene();
    const first = await scene.chat('Make it', [WRITE]);
    const [{ threadId }] = JSON.parse((await scene.run(['threads', '--json'])).stdout) as [{ threadId: string }];
    await scene.run(['threads', 'delete', threadId]);
    const resumed = await scene.run(['resume', waitingScript(first.stdout), '--approve']);
    expect({ status: resumed.status, stderr: resumed.stderr }).toEqual({ status: 0, stderr: '' });
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(true);
  });

  it.skipIf(!hasExecSandbox)('that was interrupted and recovered waits again, and reports it', async () => {
    const scene = new Scene();
    const code =
      "await tools.writeFile({ path: 'a.txt', content: 'a' }); console.log('begun'); await tools.readFile({ path: 'fifo' }).catch(() => 0); await sleep(1500); await tools.exec({ command: ['touch', 'made.txt'] }); return 'made'";
    mkdirSync(join(scene.base, 'config/toolscript'), { recursive: true });
    writeFileSync(
      join(scene.base, 'config/toolscript/config.json'),
      JSON.stringify({ rules: [{ tool: 'writeFile', action: 'approve' }] }),
    );
    const child = start(process.execPath, [PROGRAM, 'Go', ...scene.model(script(code)), '--json'], {
      env: scene.env,
      cwd: scene.workspace,
    });
    await said(child, '"type":"script_log"');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    const [{ scriptId }] = JSON.parse((await scene.run(['approvals', '--json'])).stdout) as [{ scriptId: string }];
    const recovered = await scene.run(['resume', scriptId]);
    expect(recovered.status).toBe(3);
    expect(recovered.stdout).toContain('needs your approval');
    scene.model({ parts: [{ type: 'text', text: 'It is made.' }], expect: ['made'] });
    const resumed = await scene.run(['resume', scriptId, '--approve']);
    expect({ status: resumed.status, stderr: resumed.stderr }).toEqual({ status: 0, stderr: '' });
    expect(resumed.stdout).toContain('It is made.');
  });
});
