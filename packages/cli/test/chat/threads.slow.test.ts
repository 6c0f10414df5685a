import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamEventSchema } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { scriptIdIn } from '../support/place.js';
import { finished, PROGRAM, said, start, type Finished } from '../support/program.js';
import { Scene, script, text } from './scene.js';

interface Listed {
  threadId: string;
  title: string;
}

async function listed(scene: Scene, ...flags: string[]): Promise<Listed[]> {
  return JSON.parse((await scene.run(['threads', '--json', ...flags])).stdout) as Listed[];
}

const expecting = (answer: string, ...expected: string[]) => ({
  parts: [{ type: 'text' as const, text: answer }],
  expect: expected,
});

/** A scene with one conversation. */
async function withConversation(): Promise<{ scene: Scene; id: string }> {
  const scene = new Scene();
  await scene.chat('First question', [script('return 6 * 7'), text('It is 42.')]);
  const [{ threadId: id } = { threadId: '' }] = await listed(scene);
  return { scene, id };
}

describe('a conversation', () => {
  it('is stored with its prompts and results, and continues: the last one, or the named one', async () => {
    const { scene, id } = await withConversation();
    await scene.chat('Another conversation', [text('Fine.')]);
    expect((await listed(scene)).map(({ title }) => title)).toEqual(['Another conversation', 'First question']);
    const named = await scene.chat(
      'And twice that?',
      [expecting('84.', 'First question', 'It is 42.', 'And twice that?')],
      ['--thread', id.slice(0, 9)],
    );
    expect(named).toMatchObject({ status: 0, stderr: '' });
    const last = await scene.chat('And that plus one?', [expecting('85.', '84.', 'plus one?')], ['--continue']);
    expect(last).toMatchObject({ status: 0, stderr: '' });
    expect((await listed(scene)).map(({ title }) => title)).toEqual(['First question', 'Another conversation']);
  });

  it('cannot be read by other users', async () => {
    const { scene } = await withConversation();
    expect(statSync(scene.kept('toolscript.db')).mode & 0o077).toBe(0);
    expect(statSync(scene.kept()).mode & 0o077).toBe(0);
  });

  it('of another workspace cannot be continued in this one', async () => {
    const { scene, id } = await withConversation();
    const elsewhere = join(scene.base, 'elsewhere');
    mkdirSync(elsewhere);
    const other = await scene.run(['x', '--thread', id, '--cwd', elsewhere, ...scene.model(text('No.'))]);
    expect(other.status).toBe(2);
    expect(other.stderr).toContain('is a conversation about');
  });

  it('is rejected while another process works on it, and continues after that process was killed', async () => {
    const scene = new Scene();
    const child = start(
      process.execPath,
      [PROGRAM, 'Wait here', ...scene.model(script("console.log('begun'); await sleep(60000)")), '--json'],
      { env: scene.env, cwd: scene.workspace },
    );
    await said(child, '"type":"script_log"');
    const held = await scene.chat('Now?', [text('Yes.')], ['--continue']);
    const { pid } = child;
    const [{ threadId } = { threadId: '' }] = await listed(scene);
    const sentence = `toolscript: The conversation ${threadId} is open in another process (${pid}). End that process first.\n`;
    expect(held).toMatchObject({ status: 2, stdout: '', stderr: sentence });
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    const turn = expecting('I look.', 'ended while this script ran', 'What now?');
    expect(await scene.chat('What now?', [turn], ['--continue'])).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('toolscript threads', () => {
  it('finds conversations by their title and by what the user wrote', async () => {
    const { scene, id } = await withConversation();
    await scene.chat('Another conversation', [text('Fine.')]);
    expect(await listed(scene, '--search', 'FIRST quest')).toMatchObject([{ threadId: id }]);
    const { stdout } = await scene.run(['threads', '--search', 'nothing of the kind']);
    expect(stdout).toContain('There are no conversations about this folder with the text nothing of the kind');
  });

  it('renames one', async () => {
    const { scene, id } = await withConversation();
    const { stdout } = await scene.run(['threads', 'rename', id.slice(0, 9), 'The answer']);
    expect(stdout).toBe(`${id} is now called The answer\n`);
    expect(await listed(scene)).toMatchObject([{ threadId: id, title: 'The answer' }]);
  });

  it('exports one as Markdown, to stdout or to a file for its owner', async () => {
    const { scene, id } = await withConversation();
    const { stdout } = await scene.run(['threads', 'export', id]);
    for (const part of ['# First question\n', '## You\n\nFirst question\n', '```ts\nreturn 6 * 7\n```', 'It is 42.'])
      expect(stdout).toContain(part);
    const file = join(scene.base, 'out.md');
    expect(await scene.run(['threads', 'export', id, '-o', file])).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toBe(stdout);
    expect(statSync(file).mode & 0o077).toBe(0);
    const again = join(scene.base, 'public.md');
    writeFileSync(again, 'Before', { mode: 0o644 });
    expect((await scene.run(['threads', 'export', id, '-o', again])).status).toBe(0);
    expect([readFileSync(again, 'utf8'), statSync(again).mode & 0o077]).toEqual([stdout, 0]);
    const missing = await scene.run(['threads', 'export', id, '-o', join(scene.base, 'none', 'out.md')]);
    expectRefusal(missing, join(scene.base, 'none', 'out.md'), 'ENOENT');
  });

  it('does not export to a folder or through a link', async () => {
    const { scene, id } = await withConversation();
    const [target, link] = [join(scene.base, 'target'), join(scene.base, 'link')];
    writeFileSync(target, 'Before');
    symlinkSync(target, link);
    const folder = await scene.run(['threads', 'export', id, '-o', scene.base]);
    expect(folder).toMatchObject({ status: 2, stderr: `toolscript: ${scene.base} is a folder. Name a file in it.\n` });
    const linked = await scene.run(['threads', 'export', id, '-o', link]);
    expect(linked).toMatchObject({ status: 2, stdout: '' });
    expect(linked.stderr).toContain(`${link} is a link or a device`);
    expect(readFileSync(target, 'utf8')).toBe('Before');
    expect(readdirSync(scene.base).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('exports pending approvals, and reports them', async () => {
    const scene = new Scene();
    const writes = script("return await tools.writeFile({ path: 'b.txt', content: 'b' })");
    expect((await scene.chat('Write', [writes])).status).toBe(3);
    const [{ threadId: id } = { threadId: '' }] = await listed(scene);
    const { stdout, stderr } = await scene.run(['threads', 'export', id]);
    const scriptId = scriptIdIn(stdout);
    expect(stdout).toContain(`Waits for a decision about \`writeFile\` (script \`${scriptId}\`):`);
    const waits = `toolscript: The script ${scriptId} waits for a decision. To decide: toolscript resume ${scriptId}\n`;
    expect(stderr).toBe(waits);
    expect((await scene.run(['threads', 'export', id, '--format', 'jsonl'])).stderr).toBe(waits);
    expect((await scene.run(['resume', scriptId, '--approve', ...scene.model(text('Done.'))])).status).toBe(0);
    const after = await scene.run(['threads', 'export', id]);
    expect(after.stderr).toBe('');
    expect(after.stdout).not.toContain('Waits for a decision');
  });

  it('exports one as events, one per line', async () => {
    const { scene, id } = await withConversation();
    const { stdout } = await scene.run(['threads', 'export', id, '--format', 'jsonl']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => StreamEventSchema.parse(JSON.parse(line)));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  });

  it('deletes all the named ones, or none', async () => {
    const { scene, id } = await withConversation();
    const none = await scene.run(['threads', 'delete', id, 'thr_none']);
    expect(none).toMatchObject({ status: 2, stdout: '' });
    expect(none.stderr).toContain('There is no conversation thr_none');
    expect((await scene.run(['threads', 'delete', id, id.slice(0, 9)])).stdout).toBe(`${id} is deleted.\n`);
    expect(await listed(scene)).toEqual([]);
  });

  it('deletes none on which another process works, and does not disturb that process', async () => {
    const { scene, id: idle } = await withConversation();
    const waits = script(
      "console.log('begun'); while (!(await tools.listDir({ path: '.' })).entries.length) await sleep(100)",
    );
    const args = [PROGRAM, 'Wait here', ...scene.model(waits, text('It is there.')), '--json'];
    const child = start(process.execPath, args, { env: scene.env, cwd: scene.workspace });
    const end = finished(child);
    await said(child, '"type":"script_log"');
    const id = (await listed(scene)).find(({ title }) => title === 'Wait here')!.threadId;
    expect(await scene.run(['threads', 'delete', idle, id])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: `toolscript: The conversation ${id} is open in another process (${child.pid}). End that process first.\n`,
    });
    writeFileSync(join(scene.workspace, 'go'), '');
    expect(await end).toMatchObject({ status: 0, stderr: '' });
    expect((await scene.run(['threads', 'export', id])).stdout).toContain('It is there.');
    expect((await scene.run(['threads', 'delete', idle, id])).status).toBe(0);
  });
});

const isPosix = process.platform !== 'win32';

/** One sentence that names the path and the system's code. */
function expectRefusal({ status, stdout, stderr }: Finished, path: string, code: string): void {
  expect({ status, stdout, lines: stderr.split('\n').length }, stderr).toEqual({ status: 2, stdout: '', lines: 2 });
  expect(stderr).toMatch(/^toolscript: .*\.\n$/u);
  expect(stderr).toContain(path);
  expect(stderr).toContain(code);
}

describe('a system error', () => {
  it('is one sentence if the database cannot be opened', async () => {
    const scene = new Scene();
    mkdirSync(scene.kept('toolscript.db'), { recursive: true });
    expectRefusal(await scene.run(['threads']), scene.kept('toolscript.db'), 'cannot be opened');
    expectRefusal(await scene.chat('First', [text('Yes.')]), scene.kept('toolscript.db'), 'cannot be opened');
  });

  it('is one sentence if the database is a file of another program', async () => {
    const scene = new Scene();
    mkdirSync(scene.kept(), { recursive: true });
    writeFileSync(scene.kept('toolscript.db'), 'no database, and long enough to be told from one'.repeat(100));
    expectRefusal(await scene.run(['threads']), scene.kept('toolscript.db'), 'database');
  });

  it.skipIf(!isPosix)('in the middle of a run stops its storage with one warning, but not the run', async () => {
    const { scene } = await withConversation();
    const limited = start(
      'sh',
      [
        '-c',
        // No file may grow beyond this many blocks.
        'ulimit -f 400 && exec "$@"',
        'sh',
        process.execPath,
        PROGRAM,
        'chat',
        'Third',
        '--continue',
        ...scene.model(text('x'.repeat(400_000)), script('return 6 * 7')),
      ],
      { env: scene.env, cwd: scene.workspace },
    );
    const { status, stderr } = await finished(limited);
    expect({ status, lines: stderr.split('\n').length }, stderr).toEqual({ status: 0, lines: 2 });
    expect(stderr).toContain('Later messages of this conversation are not stored.');
    const { status: after } = await scene.chat('Fourth', [expecting('Fine.', 'Fourth')], ['--continue']);
    expect(after).toBe(0);
    expect(existsSync(scene.kept('toolscript.db'))).toBe(true);
  });
});

describe.skipIf(!isPosix)('a closed reader of stdout', () => {
  it('ends commands quietly', async () => {
    const { scene } = await withConversation();
    const commands = ['threads', 'threads --json', 'approvals', 'tools', 'help'];
    const ends = await scene.shell(
      commands.map((command) => `(toolscript ${command}; echo "status $?" >&2) | true`).join('; '),
    );
    expect(ends).toMatchObject({ stdout: '', stderr: 'status 141\n'.repeat(commands.length) });
  });

  it('does not hide a usage error', async () => {
    // A pipe of the shell would buffer unread output; a closed socket does not.
    const start = `const { spawn } = require('node:child_process');
      const child = spawn('toolscript', ['threads', '--nope'], { stdio: ['ignore', 'pipe', 'ignore'] });
      child.stdout.destroy();
      child.on('close', (status) => console.log('status', status));`;
    const { stdout } = await new Scene().shell(`"${process.execPath}" -e "${start.replaceAll('\n', ' ')}"`);
    expect(stdout).toBe('status 2\n');
  });

  it('is distinguished from a full disk, which is reported', async ({ skip }) => {
    skip(!existsSync('/dev/full'), 'there is no /dev/full here');
    const { stderr } = await new Scene().shell('toolscript threads > /dev/full; echo "status $?" >&2');
    expect(stderr).toBe(
      'toolscript: stdout cannot be written (ENOSPC). Free disk space, or redirect stdout to a file that you can write to.\nstatus 1\n',
    );
  });
});
