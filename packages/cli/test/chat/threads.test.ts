import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM, said, start } from '../support/program.js';
import { Scene, script, text } from './scene.js';

interface Listed {
  threadId: string;
  title: string;
}

async function listed(scene: Scene): Promise<Listed[]> {
  return JSON.parse((await scene.toolscript(['threads', '--json'])).stdout) as Listed[];
}

const expecting = (answer: string, ...expected: string[]) => ({
  parts: [{ type: 'text' as const, text: answer }],
  expect: expected,
});

describe('a conversation', () => {
  it('is kept with its prompts and results, and goes on: the last one, or the one that is named', async () => {
    const scene = new Scene();
    await scene.chat('First question', [script('return 6 * 7'), text('It is 42.')]);
    await scene.chat('Another conversation', [text('Fine.')]);
    const [newest, oldest] = await listed(scene);
    expect([newest!.title, oldest!.title]).toEqual(['Another conversation', 'First question']);
    const named = await scene.chat(
      'And twice that?',
      [expecting('84.', 'First question', 'It is 42.', 'And twice that?')],
      ['--thread', oldest!.threadId.slice(0, 9)],
    );
    expect(named).toMatchObject({ status: 0, stderr: '' });
    const last = await scene.chat(
      'And that plus one?',
      [expecting('85.', '84.', 'And that plus one?')],
      ['--continue'],
    );
    expect(last).toMatchObject({ status: 0, stderr: '' });
    expect((await listed(scene)).map(({ title }) => title)).toEqual(['First question', 'Another conversation']);
  });

  it('tells the model at the beginning what it told it then, and once what has changed since', async () => {
    const scene = new Scene();
    const system = (name: string) => ({ ...expecting('Yes.', name) });
    await scene.chat('First', [text('Yes.')], ['--tools', 'readFile,listDir']);
    const changed = await scene.chat(
      'Second',
      [system('the tools or the instructions have changed')],
      ['--continue', '--tools', 'readFile'],
    );
    expect(changed).toMatchObject({ status: 0, stderr: '' });
    const again = await scene.chat('Third', [text('Yes.')], ['--continue', '--tools', 'readFile']);
    expect(again).toMatchObject({ status: 0, stderr: '' });
    const [file] = readdirSync(scene.kept('threads'));
    const lines = readFileSync(scene.kept('threads', file!), 'utf8').trimEnd().split('\n');
    const announced = lines.filter((line) => line.includes('have changed') && line.includes('"response_start"'));
    expect(announced).toHaveLength(1);
  });

  it('is the person’s own: nobody else may read it', async () => {
    const scene = new Scene();
    await scene.chat('Secret', [text('Yes.')]);
    const [file] = readdirSync(scene.kept('threads'));
    expect(statSync(scene.kept('threads', file!)).mode & 0o077).toBe(0);
    expect(statSync(scene.kept('threads')).mode & 0o077).toBe(0);
  });

  it('of another workspace is not gone on with in this one', async () => {
    const scene = new Scene();
    await scene.chat('Here', [text('Yes.')]);
    const [{ threadId } = { threadId: '' }] = await listed(scene);
    const elsewhere = join(scene.base, 'elsewhere');
    mkdirSync(elsewhere);
    const other = await scene.toolscript(['x', '--thread', threadId, '--cwd', elsewhere, ...scene.model(text('No.'))]);
    expect(other.status).toBe(2);
    expect(other.stderr).toContain('is a conversation about');
  });

  it('goes on after its process was killed while a script ran: what was cut off is told as such', async () => {
    const scene = new Scene();
    const child = start(
      process.execPath,
      [PROGRAM, 'Wait', ...scene.model(script("console.log('begun'); await sleep(60000)")), '--json'],
      { env: scene.env, cwd: scene.workspace },
    );
    await said(child, '"type":"script_log"');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    const { status, stderr } = await scene.chat(
      'What now?',
      [expecting('I look.', 'ended while this script ran', 'What now?')],
      ['--continue'],
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('goes on where its last line was cut off, and not where it was damaged', async () => {
    const scene = new Scene();
    await scene.chat('First', [text('Yes.')]);
    const [file] = readdirSync(scene.kept('threads'));
    const path = scene.kept('threads', file!);
    const whole = readFileSync(path, 'utf8');
    appendFileSync(path, '{"event_id":"evt_');
    const cut = await scene.chat('Second', [expecting('Yes.', 'First')], ['--continue']);
    expect(cut).toMatchObject({ status: 0, stderr: '' });
    expect((await scene.chat('Third', [expecting('Yes.', 'Second')], ['--continue'])).status).toBe(0);
    writeFileSync(path, whole.replace('"seq":0', '"seq":'));
    const damaged = await scene.chat('Fourth', [text('Yes.')], ['--continue']);
    expect(damaged.status).toBe(2);
    expect(damaged.stderr).toContain('is damaged at line');
  });

  it('is open in one process at a time; one that died holds nothing', async () => {
    const scene = new Scene();
    await scene.chat('First', [text('Yes.')]);
    const [file] = readdirSync(scene.kept('threads'));
    const lock = scene.kept('threads', `${file!}.lock`);
    writeFileSync(lock, String(process.pid));
    const held = await scene.chat('Second', [text('Yes.')], ['--continue']);
    expect(held.status).toBe(2);
    expect(held.stderr).toContain('is open in another process');
    writeFileSync(lock, '999999999');
    expect((await scene.chat('Second', [text('Yes.')], ['--continue'])).status).toBe(0);
    expect(readdirSync(scene.kept('threads'))).toEqual([file]);
  });

  it('can be forgotten', async () => {
    const scene = new Scene();
    await scene.chat('First', [text('Yes.')]);
    const [{ threadId } = { threadId: '' }] = await listed(scene);
    expect((await scene.toolscript(['threads', '--delete', threadId])).stdout).toContain('is forgotten');
    expect(await listed(scene)).toEqual([]);
  });

  it('is not kept where a script could rewrite it', async () => {
    const scene = new Scene();
    const inside = { XDG_DATA_HOME: join(scene.workspace, 'data') };
    const { status } = await scene.chat('First', [text('Yes.')], [], { env: inside });
    expect(status).toBe(0);
    expect(readdirSync(scene.workspace)).toEqual([]);
  });
});
