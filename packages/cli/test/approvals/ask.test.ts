import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAnswer } from '#cli/approvals/question.js';
import { cleanEnvironment, PROGRAM, start, temporaryFolder } from '../support/program.js';

/** `script` of util-linux gives a program a terminal of its own; elsewhere it takes other options. */
const hasTerminal =
  process.platform === 'linux' &&
  spawnSync('script', ['-qec', 'true', '/dev/null'], { env: cleanEnvironment() }).status === 0;

/** Presses keys, each when the screen has said something new that fits. Answers with everything that was shown. */
async function atTerminal(
  command: string,
  presses: readonly (readonly [wait: string, keys: string])[],
  env: Record<string, string> = {},
) {
  const child = start('script', ['-qec', command, '/dev/null'], {
    keepStdinOpen: true,
    env: { TERM: 'xterm', SHELL: '/bin/sh', ...env },
  });
  return drive(child, presses);
}

function drive(
  child: ReturnType<typeof start>,
  presses: readonly (readonly [string, string])[],
): Promise<{ status: number | null; shown: string }> {
  const waiting = [...presses];
  let shown = '';
  let from = 0;
  const press = () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const at = shown.indexOf(next[0], from);
      if (at === -1) return;
      from = at + next[0].length;
      child.stdin.write(next[1]);
      waiting.shift();
    }
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    press();
  });
  return new Promise((resolve) => {
    child.on('close', (status) => {
      expect(waiting, shown).toEqual([]);
      resolve({ status, shown });
    });
  });
}

function answerFile(folder: string, source: string): string {
  const path = join(folder, 'answer.md');
  writeFileSync(path, `Text before.\n<tool-calls>\n${source}\n</tool-calls>\nText after.\n`);
  return path;
}

const WRITE = "await tools.writeFile({ filePath: 'a.txt', content: 'one' });";
const PROMPT = 'Allow it?';

function command(folder: string, source: string, flags = ''): string {
  return `${process.execPath} ${PROGRAM} run ${answerFile(folder, source)} --cwd ${folder} ${flags}`;
}

describe.skipIf(!hasTerminal)('a question at a terminal (skipped where util-linux `script` gives none)', () => {
  it('is put before the call, and y lets it run', async () => {
    const folder = temporaryFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [[PROMPT, 'y']]);
    expect(status).toBe(0);
    expect(shown).toContain('writeFile needs your approval');
    expect(shown).toContain('line 1 of the script');
    expect(shown.indexOf('Text before.')).toBeLessThan(shown.indexOf(PROMPT));
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
  });

  it.each([
    ['n', 'n'],
    ['Enter', '\r'],
    ['Escape', '\x1b'],
    ['the end of input', '\x04'],
  ])('is refused by %s', async (_name, keys) => {
    const folder = temporaryFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [[PROMPT, keys]]);
    expect(status).toBe(1);
    expect(shown).toContain('ApprovalDeniedError');
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
  });

  it('shows help and the whole arguments, and asks again', async () => {
    const folder = temporaryFolder();
    const source = `await tools.writeFile({ filePath: 'a.txt', content: 'x'.repeat(9000) + 'THE END' });`;
    const { shown } = await atTerminal(command(folder, source), [
      [PROMPT, '?'],
      ['show the whole arguments', ''],
      [PROMPT, 'q'],
      [PROMPT, 'v'],
      ['THE END"', ''],
      [PROMPT, 'n'],
    ]);
    expect(shown.split(PROMPT)).toHaveLength(5);
  });

  it('is put once for all calls of a tool when the answer is always', async () => {
    const folder = temporaryFolder();
    const source = `await Promise.all(['a', 'b'].map((name) => tools.writeFile({ filePath: name + '.txt', content: name })));
await tools.writeFile({ filePath: 'c.txt', content: 'c' });
await tools.exec({ command: ['true'] });`;
    const { status, shown } = await atTerminal(command(folder, source), [
      [PROMPT, 'a'],
      ['exec needs your approval', ''],
      [PROMPT, 'y'],
    ]);
    expect(status).toBe(0);
    expect(shown.split(PROMPT)).toHaveLength(3);
    for (const name of ['a', 'b', 'c']) expect(readFileSync(join(folder, `${name}.txt`), 'utf8')).toBe(name);
  });

  it('is put one at a time', async () => {
    const folder = temporaryFolder();
    const source = `return (await Promise.allSettled(['a', 'b'].map((name) => tools.writeFile({ filePath: name + '.txt', content: name })))).map((one) => one.status);`;
    const { shown } = await atTerminal(command(folder, source), [
      [PROMPT, 'y'],
      [PROMPT, 'n'],
    ]);
    expect(shown.replaceAll(/\s/gu, '')).toContain('["fulfilled","rejected"]');
    expect([existsSync(join(folder, 'a.txt')), existsSync(join(folder, 'b.txt'))]).toEqual([true, false]);
  });

  it('shows nothing that the terminal obeys', async () => {
    const folder = temporaryFolder();
    const source = String.raw`await tools.exec({ command: ['echo', '\x1b]0;owned\x07\u202e\u200b'], approvalContext: '\x1b[2J\x9b2Jgood \u202ereason' });`;
    const { shown } = await atTerminal(
      command(folder, source),
      [
        [PROMPT, 'v'],
        [PROMPT, 'n'],
      ],
      { NO_COLOR: '1' },
    );
    expect(shown).toContain('owned');
    expect(shown.replaceAll('\r\x1b[2K', '')).not.toMatch(/[\x1b\x07\x9b\u202e\u200b]/u);
  });

  it('is taken back when its time is over', async () => {
    const folder = temporaryFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE, '--limit approvalTimeoutMs=300'), [
      [PROMPT, ''],
      ['Too late', ''],
    ]);
    expect(status).toBe(1);
    expect(shown).toContain('ApprovalTimeoutError');
  });

  it('ends the run at Ctrl-C', async () => {
    const folder = temporaryFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [[PROMPT, '\x03']]);
    expect(status).toBe(130);
    expect(shown).toContain('ScriptCancelledError');
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
  });

  it('is put at the terminal when the answer itself comes through a pipe', async () => {
    const folder = temporaryFolder();
    const path = answerFile(folder, WRITE);
    const piped = `cat ${path} | ${process.execPath} ${PROGRAM} run --cwd ${folder}`;
    const { status } = await atTerminal(piped, [[PROMPT, 'y']]);
    expect(status).toBe(0);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
  });

  it('never reaches stdout when events go there', async () => {
    const folder = temporaryFolder();
    const events = join(folder, 'events.jsonl');
    const { status } = await atTerminal(`${command(folder, WRITE, '--json')} > ${events}`, [[PROMPT, 'y']]);
    expect(status).toBe(0);
    for (const line of readFileSync(events, 'utf8').trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });
});

describe('what is pressed', () => {
  it.each([
    ['y', 'yes'],
    ['Y', 'yes'],
    ['yes\r', 'yes'],
    ['n', 'no'],
    ['\r', 'no'],
    ['\x04', 'no'],
    ['\x1b', 'no'],
    ['a', 'always'],
    ['v', 'view'],
    ['?', 'help'],
    ['\x03', 'interrupt'],
    ['y\x03', 'interrupt'],
    ['\x1b[A', undefined],
    ['x', 'unclear'],
    ['yn', 'unclear'],
    ['yy', 'unclear'],
  ])('%j means %s', (keys, answer) => {
    expect(readAnswer(keys)).toBe(answer);
  });
});
