import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamEventSchema } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { Scene, script, text } from './scene.js';

describe('one prompt', () => {
  it('runs the scripts of the answer, gives their results to the model, and shows all of it as it comes', async () => {
    const scene = new Scene();
    writeFileSync(join(scene.workspace, 'a.txt'), 'one\ntwo\n');
    const { status, stdout, stderr } = await scene.chat('How long is a.txt?', [
      script("return (await tools.readFile({ path: 'a.txt' })).totalLines", 'I look.'),
      { parts: [{ type: 'text', text: 'It has **two** lines.' }], expect: ['completed'] },
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(
      /^I look\.\n▶ script [0-9a-f]{8} \(ts, 1 line\)\n {2}✓ readFile a\.txt .*\n2\n✔ completed .*\nIt has \*\*two\*\* lines\.\n2 answers · .* tokens in · .* out · .*\n$/u,
    );
  });

  it('may be the first word, a pipe, or a dash', async () => {
    const scene = new Scene();
    const said = text('Yes.');
    const bare = await scene.toolscript([
      'Are you there?',
      ...scene.model({ ...said, expect: ['Are you there?'] } as never),
    ]);
    const words = await scene.toolscript([
      'are',
      'you',
      'there',
      ...scene.model({ ...said, expect: ['are you there'] } as never),
    ]);
    const piped = await scene.toolscript(scene.model({ ...said, expect: ['From a pipe'] } as never), {
      stdin: 'From a pipe\n',
    });
    const dashed = await scene.toolscript(['-', ...scene.model({ ...said, expect: ['By a dash'] } as never)], {
      stdin: 'By a dash',
    });
    for (const { status, stdout, stderr } of [bare, words, piped, dashed])
      expect({ status, stdout: stdout.split('\n')[0], stderr }).toEqual({ status: 0, stdout: 'Yes.', stderr: '' });
  });

  it('prints one event per line with --json, and nothing else', async () => {
    const scene = new Scene();
    const { status, stdout, stderr } = await scene.chat('Go.', [script('return 1'), text('Done.')], ['--json']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => StreamEventSchema.parse(JSON.parse(line)));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  });

  it('ends with 1 if a script failed and the model did not repair it, and with 0 if it did', async () => {
    const scene = new Scene();
    const left = await scene.chat('Go.', [script('throw new Error("no")'), text('It failed.')]);
    expect(left.status).toBe(1);
    const mended = await scene.chat('Go.', [script('throw new Error("no")'), script('return 1'), text('Done.')]);
    expect(mended.status).toBe(0);
  });

  it('ends with 1 and one sentence if the model cannot be reached', async () => {
    const scene = new Scene();
    const { status, stderr } = await scene.chat('Go.', [{ type: 'failure', status: 400, message: 'No such model.' }]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^toolscript: \S+: .*No such model\.\n$/u);
  });

  it('changes the folder as its scripts do, and changes nothing in a dry run', async () => {
    const scene = new Scene();
    const write = script("return await tools.writeFile({ path: 'b.txt', content: 'b' })");
    const dry = await scene.chat('Write.', [write, text('Done.')], ['--mode', 'dry-run', '--approve', 'auto']);
    expect(dry.stdout).toContain('a dry run calls nothing');
    expect(() => readFileSync(join(scene.workspace, 'b.txt'))).toThrow();
    await scene.chat('Write.', [write, text('Done.')], ['--approve', 'auto']);
    expect(readFileSync(join(scene.workspace, 'b.txt'), 'utf8')).toBe('b');
  });

  it.each([
    ['', ['chat', ''], 'The prompt is empty'],
    [
      'an unknown agent',
      ['chat', 'x', '--agent', 'claude-sonet'],
      'There is no agent claude-sonet. Did you mean claude-sonnet?',
    ],
    ['no key', ['chat', 'x', '--agent', 'claude-sonnet'], 'set ANTHROPIC_API_KEY'],
    ['no agent at all', ['chat', 'x'], 'set OPENAI_API_KEY or ANTHROPIC_API_KEY'],
    [
      'a scenario that is not there',
      ['chat', 'x', '--model', 'scripted:/no/such.json'],
      'There is no scenario /no/such.json',
    ],
    ['a thread that is not there', ['chat', 'x', '--thread', 'thr_no'], 'There is no conversation thr_no'],
    ['nothing to continue', ['chat', 'x', '--continue'], 'There is no conversation about'],
    ['a mistyped command', ['evla'], 'There is no command evla. Did you mean eval?'],
    ['an unknown option', ['chat', 'x', '--modle', 'y'], '--modle'],
    ['nothing to say', [], 'Usage: toolscript'],
  ])('says in one sentence what is wrong: %s', async (_what, args, said) => {
    const { status, stderr, stdout } = await new Scene().toolscript(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(said);
  });

  it('says what is wrong with a scenario', async () => {
    const scene = new Scene();
    const file = join(scene.base, 'bad.json');
    writeFileSync(file, '{ "turns": [{ "parts": [{ "type": "song" }] }] }');
    const bad = await scene.toolscript(['x', '--model', `scripted:${file}`]);
    expect(bad.status).toBe(2);
    expect(bad.stderr).toContain('The scenario');
    writeFileSync(file, 'no JSON');
    expect((await scene.toolscript(['x', '--model', `scripted:${file}`])).stderr).toContain('cannot be read');
  });
});
