import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scene, script, text, type Turn } from './scene.js';

const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };

class AnswerScene extends Scene {
  readonly schema = join(this.base, 'schema.json');
  readonly file = join(this.workspace, 'answer.txt');

  constructor() {
    super();
    writeFileSync(this.schema, JSON.stringify(SCHEMA));
  }

  /** A prompt with the schema. */
  counted(turns: readonly Turn[], ...more: string[]) {
    return this.chat('Count.', turns, ['--output-schema', this.schema, ...more]);
  }

  /** A prompt with stdin, in a process of its own. */
  piped(words: readonly string[], stdin: string | Buffer, ...turns: Turn[]) {
    return this.toolscript([...words, '-p', ...this.model(...turns)], { stdin });
  }
}

const expecting = (said: string, ...expected: string[]) => ({ ...text(said), expect: expected }) as Turn;

describe('stdin beside a prompt', () => {
  it('is added to it as context, also where a dash names it', async () => {
    const scene = new AnswerScene();
    const turn = expecting('Fine.', 'Review this.\n\n<stdin>\n+ a line\n</stdin>');
    for (const words of [['Review this.'], ['Review this.', '-'], ['-', 'Review this.'], ['Review', 'this.']])
      expect(await scene.piped(words, '+ a line\n', turn), words.join()).toMatchObject({
        status: 0,
        stdout: 'Fine.\n',
        stderr: '',
      });
  });

  it('is the prompt where there is no other', async () => {
    const scene = new AnswerScene();
    const { status, stdout } = await scene.piped([], '\uFEFFWhat is this?\n', expecting('A test.', 'What is this?'));
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'A test.\n' });
  });

  it('changes nothing if it is empty', async () => {
    const scene = new AnswerScene();
    expect(await scene.piped(['Go.'], ' \n', text('Done.'))).toMatchObject({
      status: 0,
      stdout: 'Done.\n',
      stderr: '',
    });
    const alone = await scene.piped([], '');
    expect(alone).toMatchObject({ status: 2, stdout: '' });
    expect(alone.stderr).toContain('The prompt is empty: stdin has no text.');
  });

  it.each([
    ['binary', Buffer.from([65, 0, 66]), 'stdin is binary'],
    ['not UTF-8', Buffer.from([65, 0xff, 66]), 'stdin is not UTF-8'],
    ['longer than a prompt may be', 'a'.repeat(1024 * 1024 + 1), 'stdin is larger than 1 MiB'],
  ])('is refused before the model is asked if it is %s', async (_what, stdin, said) => {
    const { status, stdout, stderr } = await new AnswerScene().piped(['Review.'], stdin, text('Never.'));
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(said);
  });
});

describe('the final answer', () => {
  it('is all that --print writes to stdout', async () => {
    const scene = new AnswerScene();
    const turns = [script('console.log("loud"); return 1', 'I look.'), text('It is **one**.')];
    const { status, stdout, stderr } = await scene.chat('Go.', turns, ['--print']);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'It is **one**.\n', stderr: '' });
  });

  it('is the value of a script if the agent finishes with one', async () => {
    const scene = new AnswerScene();
    const file = scene.ownFile('agents/finisher.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ slug: 'finisher', finish: 'script' }));
    const turns = [script('return { n: 4 }', 'I look.'), text('Never.')];
    const { status, stdout, stderr } = await scene.chat('Go.', turns, [
      '--print',
      '-o',
      scene.file,
      '--agent',
      'finisher',
    ]);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '{"n":4}\n', stderr: '' });
    expect(readFileSync(scene.file, 'utf8')).toBe('{"n":4}\n');
  });

  it('is missing, with the reason on stderr, if the run does not complete', async () => {
    const scene = new AnswerScene();
    const turns: Turn[] = [{ type: 'failure', status: 400, message: 'No such model.' }];
    const failed = await scene.chat('Go.', turns, ['-p', '-o', scene.file]);
    expect(failed).toMatchObject({ status: 1, stdout: '' });
    expect(failed.stderr).toContain('No such model.');
    expect(existsSync(scene.file)).toBe(false);
  });

  it('goes to the file of -o whole, and a link, a mode and other files stay as they are', async () => {
    const scene = new AnswerScene();
    const link = join(scene.workspace, 'link.txt');
    writeFileSync(scene.file, 'before');
    chmodSync(scene.file, 0o640);
    symlinkSync(scene.file, link);
    const { status, stdout } = await scene.chat('Go.', [text('After.')], ['-o', link]);
    expect({ status, shown: stdout.split('\n')[0] }).toEqual({ status: 0, shown: 'After.' });
    expect(readFileSync(scene.file, 'utf8')).toBe('After.\n');
    expect(statSync(scene.file).mode & 0o777).toBe(0o640);
    expect(readdirSync(scene.workspace).toSorted()).toEqual(['answer.txt', 'link.txt']);
  });

  it('goes to the file also with --json, which prints events', async () => {
    const scene = new AnswerScene();
    const { stdout } = await scene.chat('Go.', [text('After.')], ['-o', scene.file, '--json']);
    expect(stdout.startsWith('{"event_id":')).toBe(true);
    expect(readFileSync(scene.file, 'utf8')).toBe('After.\n');
  });

  it.each([
    ['a folder', 'folder', 'is a folder. Name a file in it'],
    ['in a missing folder', 'no/answer.txt', 'its folder does not exist'],
    ['in a file', 'file/answer.txt', 'cannot be written'],
  ])('is refused a place before the model is asked: %s', async (_what, name, said) => {
    const scene = new AnswerScene();
    mkdirSync(join(scene.workspace, 'folder'));
    writeFileSync(join(scene.workspace, 'file'), '');
    const { status, stdout, stderr } = await scene.chat('Go.', [text('Never.')], ['-o', name]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(said);
    expect((await scene.run(['threads'])).stdout).toContain('There are no conversations');
  });
});

describe('--output-schema', () => {
  it('gives the schema to the model, and prints the valid JSON alone', async () => {
    const scene = new AnswerScene();
    const turns = [script('return 4', 'I count.'), text('```json\n{ "n": 4 }\n```')];
    (turns[0] as { expect?: string[] }).expect = [JSON.stringify(SCHEMA)];
    const { status, stdout, stderr } = await scene.counted(turns, '-o', scene.file);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '{"n":4}\n', stderr: '' });
    expect(readFileSync(scene.file, 'utf8')).toBe('{"n":4}\n');
  });

  it.each([
    ['no JSON', 'It is four.', 'the answer is not JSON'],
    ['a wrong value', '{"n":"four"}', 'answer.n: expected integer'],
    ['nothing', ' ', 'the answer is empty'],
  ])('lets the model repair its answer once, and says what is wrong: %s', async (_what, wrong, problem) => {
    const scene = new AnswerScene();
    const mended = await scene.counted([text(wrong), expecting('{"n":4}', problem)]);
    expect(mended).toMatchObject({ status: 0, stdout: '{"n":4}\n', stderr: '' });
    const left = await scene.counted([text(wrong), text(wrong), text('{"n":4}')], '-o', scene.file);
    expect(left).toMatchObject({ status: 1, stdout: '' });
    expect(left.stderr).toContain(problem);
    expect(left.stderr).toContain('even after one repair');
    expect(existsSync(scene.file)).toBe(false);
  });

  it.each([
    ['{ "type": "strnig" }', 'cannot be used as a JSON Schema'],
    ['[]', 'cannot be used as a JSON Schema'],
    ['{', 'is not JSON (line'],
    [undefined, 'There is no schema'],
  ])('refuses an unusable schema before the model is asked: %s', async (content, said) => {
    const scene = new AnswerScene();
    const path = join(scene.base, 'other.json');
    if (content !== undefined) writeFileSync(path, content);
    const { status, stdout, stderr } = await scene.chat('Go.', [text('Never.')], ['--output-schema', path]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(said);
  });
});

describe('a run that waits for a decision', () => {
  it('is resumed with the options that its command had, by the printed command', async () => {
    const scene = new AnswerScene();
    const flags = ['-p', '--output-schema', scene.schema, '-o', scene.file, '--limit', 'timeoutMs=50000'];
    const write = script("await tools.writeFile({ path: 'b.txt', content: 'b' }); return 4");
    const { status, stdout, stderr } = await scene.chat('Go.', [write], [...flags, '--tools', 'writeFile']);
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' });
    const command = /toolscript (resume .* --approve)/u.exec(stderr)?.[1] ?? '';
    for (const part of ['--tools writeFile', '--limit timeoutMs=50000', '--print', '--output-schema /', '--output /'])
      expect(command).toContain(part);
    const resumed = await scene.shell(`toolscript ${command} ${scene.model(text('{"n":4}')).join(' ')}`);
    expect(resumed).toMatchObject({ status: 0, stdout: '{"n":4}\n' });
    expect(readFileSync(scene.file, 'utf8')).toBe('{"n":4}\n');
  });
});
