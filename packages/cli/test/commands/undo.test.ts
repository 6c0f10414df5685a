import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Place } from '../support/place.js';

const CHANGES = `await tools.writeFile({ path: 'a.txt', content: 'new' });
await tools.writeFile({ path: 'made/b.txt', content: 'b' });
return 1;`;

async function changed(source = CHANGES, ...flags: string[]) {
  const place = new Place();
  writeFileSync(join(place.workspace, 'a.txt'), 'old');
  const { stdout, status } = await place.run(['eval', '-e', source, '--approve', 'auto', '--json', ...flags]);
  expect(status).toBe(0);
  const { scriptId } = JSON.parse(stdout) as { scriptId: string };
  const text = (name: string) => readFileSync(join(place.workspace, name), 'utf8');
  return { place, scriptId, text };
}

describe('toolscript undo', () => {
  it('restores the files of the newest script, and redo changes them again', async () => {
    const { place, scriptId, text } = await changed();
    const undone = await place.run(['undo', '--yes']);
    expect(undone).toMatchObject({ status: 0, stderr: '' });
    expect(undone.stdout).toContain('change   a.txt\n  remove   made/b.txt');
    expect(undone.stdout).toContain(`Undone: 2 files of ${scriptId}`);
    expect(text('a.txt')).toBe('old');
    expect(readdirSync(place.workspace)).toEqual(['a.txt']);
    const again = await place.run(['undo', '--yes']);
    expect(again.status).toBe(1);
    expect(again.stderr).toContain(`already undone. To redo them: toolscript undo ${scriptId} --redo`);
    expect(await place.run(['undo', scriptId, '--redo', '--yes'])).toMatchObject({ status: 0, stderr: '' });
    expect([text('a.txt'), text('made/b.txt')]).toEqual(['new', 'b']);
  });

  it('shows the changed lines with --dry-run, and changes nothing', async () => {
    const { place, text } = await changed();
    const { status, stdout } = await place.run(['undo', '--dry-run']);
    expect(status).toBe(0);
    expect(stdout).toContain('-new');
    expect(stdout).toContain('+old');
    expect(text('a.txt')).toBe('new');
  });

  it('lists the files that have changed since, and undoes nothing', async () => {
    const { place, scriptId, text } = await changed();
    writeFileSync(join(place.workspace, 'a.txt'), 'mine');
    const { status, stdout, stderr } = await place.run(['undo', scriptId, '--yes']);
    expect(status).toBe(1);
    expect(stdout).toContain('a.txt: it was changed since');
    expect(stderr).toContain('nothing was undone: a.txt.');
    expect([text('a.txt'), text('made/b.txt')]).toEqual(['mine', 'b']);
  });

  it('says that the changes of a command stay', async () => {
    const source = `await tools.exec({ command: ['sh', '-c', 'echo x > by-exec.txt'] }); ${CHANGES}`;
    const { place } = await changed(source, '--exec-sandbox', 'off');
    const { status, stdout } = await place.run(['undo', '--yes']);
    expect(status).toBe(0);
    expect(stdout).toContain('Not undone:\n  exec (line 1): the files that its program changed are not recorded');
    expect(existsSync(join(place.workspace, 'by-exec.txt'))).toBe(true);
  });

  it('reverts the changes of a command in a git workspace, and names the rest', async () => {
    const place = new Place();
    execFileSync('git', ['init', '-q'], { cwd: place.workspace });
    writeFileSync(join(place.workspace, 'a.txt'), 'old\n');
    const source = `return (await tools.exec({ command: ['sh', '-c', 'echo new > a.txt; echo b > b.txt'] })).exitCode`;
    const ran = await place.run(['eval', '-e', source, '--approve', 'auto', '--exec-sandbox', 'off']);
    expect(ran).toMatchObject({ status: 0 });
    const { status, stdout } = await place.run(['undo', '--yes']);
    expect(status).toBe(0);
    expect(stdout).toContain('change   a.txt\n  remove   b.txt');
    expect(stdout).toContain(
      'exec (line 1): files that git ignores, and effects outside of the workspace, are not recorded',
    );
    expect(readFileSync(join(place.workspace, 'a.txt'), 'utf8')).toBe('old\n');
    expect(existsSync(join(place.workspace, 'b.txt'))).toBe(false);
  });

  it('offers nothing if the files are as they were', async () => {
    const { place, scriptId } = await changed();
    writeFileSync(join(place.workspace, 'a.txt'), 'old');
    rmSync(join(place.workspace, 'made'), { recursive: true });
    const { status, stdout } = await place.run(['undo']);
    expect(status).toBe(0);
    expect(stdout).toBe(`There is nothing to undo of ${scriptId}: its files are as they were.\n`);
  });

  it('asks at a terminal, and needs --yes without one', async () => {
    const { place, text } = await changed();
    const { status, stdout, stderr } = await place.run(['undo']);
    expect(status).toBe(2);
    expect(stdout).toMatch(/-new\n[\s\S]*\+old/);
    expect(stderr).toContain(
      'There is no terminal for the question. Look at the changes with --dry-run, then add --yes.',
    );
    expect(text('a.txt')).toBe('new');
  });

  it('prints a report with --json', async () => {
    const { place, scriptId } = await changed();
    const { stdout } = await place.run(['undo', '--json', '--yes']);
    expect(JSON.parse(stdout)).toMatchObject({
      scriptId,
      direction: 'undo',
      isDone: true,
      files: [
        { path: 'a.txt', change: 'update' },
        { path: 'made/b.txt', change: 'delete' },
      ],
      notUndone: [],
    });
    const { stdout: refused } = await place.run(['undo', '--json', '--yes']);
    expect(JSON.parse(refused)).toMatchObject({ isDone: false, refusal: { code: 'already_undone' } });
  });

  it('finds only scripts of the workspace', async () => {
    const { place } = await changed();
    const other = join(place.base, 'other');
    mkdirSync(other);
    const { status, stderr } = await place.run(['undo', '--yes', '--cwd', other]);
    expect(status).toBe(2);
    expect(stderr).toContain(`No stored script changed files in ${other}.`);
  });

  it('undoes what a script changed before and after its suspension', async () => {
    const place = new Place();
    writeFileSync(join(place.workspace, 'a.txt'), 'old');
    mkdirSync(join(place.base, 'config/toolscript'), { recursive: true });
    const rules = [{ tool: 'writeFile', input: { path: 'a.txt' }, action: 'approve' }, { action: 'ask' }];
    writeFileSync(join(place.base, 'config/toolscript/config.json'), JSON.stringify({ rules }));
    const waits = await place.run(['eval', '-e', CHANGES, '--json']);
    const { scriptId, status } = JSON.parse(waits.stdout) as Record<string, string>;
    expect(status).toBe('suspended');
    expect((await place.run(['resume', scriptId!, '--approve', '--json'])).status).toBe(0);
    expect(readFileSync(join(place.workspace, 'made/b.txt'), 'utf8')).toBe('b');
    expect((await place.run(['undo', scriptId!, '--yes'])).status).toBe(0);
    expect(readdirSync(place.workspace)).toEqual(['a.txt']);
    expect(readFileSync(join(place.workspace, 'a.txt'), 'utf8')).toBe('old');
  });

  it('deletes the old files together with their script', async () => {
    const { place, scriptId } = await changed();
    expect(readdirSync(place.kept('changes'))).toEqual([scriptId]);
    await place.run(['approvals', 'delete', scriptId]);
    expect(readdirSync(place.kept('changes'))).toEqual([]);
    mkdirSync(place.kept('changes', 'scr_orphan'));
    await place.run(['approvals', 'prune']);
    expect(readdirSync(place.kept('changes'))).toEqual([]);
  });
});
