import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM, said, start } from '../support/program.js';
import { atTerminal, hasTerminal, PROMPT } from '../support/terminal.js';
import { Scene, script, text, type Turn } from './scene.js';
import { hasExecSandbox } from '@toolscript/testkit/exec-sandbox';

const SIGN = '› ';
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const CTRL_U = '\x15';
/** The terminal marks pasted text no longer: the turn has ended. */
const END_OF_TURN = '\x1b[?2004l';

/** Types each text when the screen shows its cue; returns the screen's text without colors. */
async function talk(
  turns: readonly Turn[],
  presses: readonly (readonly [string, string])[],
  { more = '', scene = new Scene() } = {},
) {
  const model = scene.model(...turns).join(' ');
  const command = `cd ${scene.workspace} && stty cols 80 && exec ${process.execPath} ${PROGRAM} ${model} ${more}`;
  const { status, shown } = await atTerminal(command, presses, { ...scene.env, NO_COLOR: '1' });
  return { scene, status, shown: shown.replaceAll(/\x1b\[[\d;?]*[A-Za-z]/gu, '').replaceAll('\r', '') };
}

function partsOf(turn: Turn) {
  return 'parts' in turn ? turn.parts : [];
}

describe.skipIf(!hasTerminal)('a conversation at a terminal (skipped where util-linux `script` gives none)', () => {
  it('takes prompts, shows scripts while they stream, renders Markdown, and shows at the end how to continue', async () => {
    const { status, shown } = await talk(
      [script('const sum = 6 * 7;\nreturn sum;', 'I **compute**.'), text('It is `42`.\n\n- really'), text('Yes.')],
      [
        [SIGN, 'What is it?\r'],
        ['2 answers', ''],
        [SIGN, 'Sure?\r'],
        ['1 answer', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect(status).toBe(0);
    expect(shown).toContain('I compute.');
    expect(shown).toContain('  │ const sum = 6 * 7;\n  │ return sum;\n');
    expect(shown).toContain('→ 42');
    expect(shown).toContain('It is 42.\n\n• really');
    expect(shown).toMatch(/To continue: .* --thread thr_\w+/u);
  });

  it('shows earlier messages and pending approvals when it is continued', async () => {
    const scene = new Scene();
    await scene.chat('What is it?', [script('return 6 * 7'), text('It is **42**.')]);
    const exec = script("return (await tools.exec({ command: ['touch', 'made.txt'] })).exitCode");
    expect((await scene.chat('Make it', [exec], ['--continue'])).status).toBe(3);
    const presses = [
      ['/help lists commands', ''],
      [SIGN, CTRL_D],
    ] as const;
    const { shown } = await talk([], presses, { more: '--continue', scene });
    expect(shown).toMatch(/› What is it\?\n▶ script .*\n✔ completed in .*\nIt is 42\.\n/u);
    expect(shown).toMatch(/› Make it\n▶ script .*\n⏸ A script waits for your decision: \/resume asks you\.\n/u);
    expect(shown).toContain('after 2 prompts');
  });

  it.skipIf(!hasExecSandbox)('asks in the conversation, and applies the answer', async () => {
    const exec = script("return (await tools.exec({ command: ['touch', 'made.txt'] })).exitCode");
    const { scene, shown } = await talk(
      [exec, text('Made.')],
      [
        [SIGN, 'Make it\r'],
        [PROMPT, 'y'],
        ['Made.', ''],
        [SIGN, '/exit\r'],
      ],
    );
    expect(shown).toContain('exec needs your approval');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(true);
  });

  it.skipIf(!hasExecSandbox)('suspends a script, reports it, and asks again on /resume', async () => {
    const exec = script("return (await tools.exec({ command: ['touch', 'made.txt'] })).exitCode");
    const { scene, status } = await talk(
      [exec, text('Made.')],
      [
        [SIGN, 'Make it\r'],
        [PROMPT, 'l'],
        ['is suspended until you decide', ''],
        [SIGN, '/resume\r'],
        [PROMPT, 'y'],
        ['Made.', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect(status).toBe(0);
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(true);
  });

  it('stops the turn at Ctrl-C, and continues with the next prompt', async () => {
    const { status, shown } = await talk(
      [script('console.log("begun"); await sleep(60000)'), text('Here I am.')],
      [
        [SIGN, 'Wait\r'],
        ['[script] begun', CTRL_C],
        ['stopped', ''],
        [SIGN, 'Still there?\r'],
        ['Here I am.', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect(status).toBe(0);
    expect(shown).toContain('ScriptCancelledError');
  });

  it.skipIf(!hasExecSandbox)('suspends a script at Ctrl-C while it asks, also when /resume asks', async () => {
    const exec = script("return (await tools.exec({ command: ['touch', 'made.txt'] })).exitCode");
    const { scene, status, shown } = await talk(
      [exec, text('Here I am.'), text('Made now.')],
      [
        [SIGN, 'Make it\r'],
        [PROMPT, CTRL_C],
        ['is suspended until you decide', ''],
        [SIGN, 'Still there?\r'],
        ['Here I am.', ''],
        [SIGN, '/resume\r'],
        [PROMPT, CTRL_C],
        [SIGN, '/resume\r'],
        [PROMPT, 'y'],
        ['Made now.', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect(status).toBe(0);
    expect(shown).not.toContain('ScriptCancelledError');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(true);
  });

  it('suspends a script when the terminal is closed while it asks', async () => {
    const scene = new Scene();
    const model = scene.model(script("await tools.exec({ command: ['touch', 'made.txt'] })"), text('Made.')).join(' ');
    const command = `exec ${process.execPath} ${PROGRAM} 'make it' ${model}`;
    const terminal = start('script', ['-qec', command, '/dev/null'], {
      keepStdinOpen: true,
      env: { ...scene.env, TERM: 'xterm', SHELL: '/bin/sh', NO_COLOR: '1' },
      cwd: scene.workspace,
    });
    await said(terminal, PROMPT);
    terminal.kill('SIGKILL');
    const states = async () => {
      const { stdout } = await scene.toolscript(['approvals', '--json']);
      return (JSON.parse(stdout) as { state: string }[]).map(({ state }) => state);
    };
    await expect.poll(states, { interval: 300 }).toEqual(['suspended']);
    const second = scene.model({ parts: [{ type: 'text', text: 'Yes?' }], expect: ['Script suspended'] });
    await expect.poll(async () => (await scene.toolscript(['And now?', '--continue', ...second])).status).toBe(0);
  });

  it('keeps keys that were typed before a question for the next prompt', async () => {
    const exec = script("return (await tools.exec({ command: ['touch', 'made.txt'] })).exitCode");
    const turn: Turn = {
      parts: [{ type: 'text', text: 'Wait for it.' }, { type: 'wait', ms: 5_000 }, ...partsOf(exec)],
    };
    const { scene, shown } = await talk(
      [turn, text('Not made.')],
      [
        [SIGN, 'Make it\r'],
        ['Wait for it.', 'y'],
        [PROMPT, 'n\r'],
        ['Not made.', ''],
        [END_OF_TURN, ''],
        [SIGN, `${CTRL_U}${CTRL_D}`],
      ],
    );
    expect(shown).toContain('denied');
    expect(existsSync(join(scene.workspace, 'made.txt'))).toBe(false);
  });

  it('exits at a second Ctrl-C, with an open prompt or a running turn', async () => {
    const idle = await talk(
      [],
      [
        [SIGN, CTRL_C],
        ['Press Ctrl-C again to exit', ''],
        [SIGN, CTRL_C],
      ],
    );
    expect(idle.status).toBe(0);
  });

  it('executes its commands, and reports unknown ones', async () => {
    const { shown } = await talk(
      [text('A path.')],
      [
        [SIGN, '/help\r'],
        ['start another conversation', ''],
        [SIGN, '/resum\r'],
        ['Did you mean /resume?', ''],
        [SIGN, '/resume\r'],
        ['No script of this conversation waits', ''],
        [SIGN, '/etc/hosts is what?\r'],
        ['A path.', ''],
        [SIGN, '/quit\r'],
      ],
    );
    expect(shown).toContain('A path.');
  });

  it('starts another conversation on request', async () => {
    const { shown } = await talk(
      [text('One.'), { parts: [{ type: 'text', text: 'Two.' }], begins_anew: true }],
      [
        [SIGN, 'First\r'],
        ['One.', ''],
        [SIGN, '/new\r'],
        ['A new conversation', ''],
        [SIGN, 'Second\r'],
        ['Two.', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect(shown).not.toContain('invalid_request');
  });

  it('reads a line that ends in a backslash, and pasted lines, as part of one prompt', async () => {
    const { shown } = await talk(
      [
        { parts: [{ type: 'text', text: 'Read one.' }], expect: ['one\ntwo'] },
        { parts: [{ type: 'text', text: 'Read two.' }], expect: ['three\nfour'] },
        { parts: [{ type: 'text', text: 'Read three.' }], expect: ['curl \\\n  -X POST\nand more'] },
        { parts: [{ type: 'text', text: 'Read four.' }], expect: ['five\nsix is not sent by itself'] },
      ],
      [
        [SIGN, 'one\\\r'],
        [SIGN, 'two\r'],
        ['Read one.', ''],
        [SIGN, 'three\rfour\r'],
        ['Read two.', ''],
        // A terminal marks pasted text; its last line waits for Enter.
        [SIGN, '\x1b[200~curl \\\r  -X POST\rand more\x1b[201~'],
        ['and more', '\r'],
        ['Read three.', ''],
        [SIGN, 'five\rsix is not sent'],
        ['six is not sent', ' by itself\r'],
        ['Read four.', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect(shown).not.toContain('invalid_request');
  });
});
