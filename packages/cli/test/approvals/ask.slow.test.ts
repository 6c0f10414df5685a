import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAnswer } from '#cli/approvals/question.js';
import { PROGRAM, toolscript } from '../support/program.js';
import { answerFile, atTerminal, command, hasTerminal, PROMPT } from '../support/terminal.js';
import { hasExecSandbox } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

const WRITE = "await tools.writeFile({ path: 'a.txt', content: 'one' });";
describe.skipIf(!hasTerminal)('a question at a terminal (skipped where util-linux `script` gives none)', () => {
  it('is put before the call, and y lets it run', async () => {
    const folder = newFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [[PROMPT, 'y']]);
    expect(status).toBe(0);
    expect(shown).toContain('writeFile needs your approval');
    expect(shown).toContain('line 1 of the script');
    expect(shown.indexOf('Text before.')).toBeLessThan(shown.indexOf(PROMPT));
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
  });

  it.each([
    ['n', 'n\r'],
    ['Enter', '\r'],
    ['Escape', '\x1b'],
    ['the end of input', '\x04'],
  ])('is refused by %s', async (_name, keys) => {
    const folder = newFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [[PROMPT, keys]]);
    expect(status).toBe(1);
    expect(shown).toContain('ApprovalDeniedError');
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
  });

  it('is not answered by keys that were typed before it was visible', async () => {
    const folder = newFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [
      ['', 'y'],
      ['Keys that were typed before this question were ignored', ''],
      [PROMPT, 'n\r'],
    ]);
    expect(status, shown).toBe(1);
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
  });

  it('is not answered by keys that were typed when it had just appeared', async () => {
    const folder = newFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE), [
      ['needs your approval', 'y'],
      ['Keys that were typed before this question were ignored', ''],
      [PROMPT, 'v'],
      ['"content": "one"', 'y'],
      ['Keys that were typed before this question were ignored', ''],
      [PROMPT, 'n\r'],
    ]);
    expect(status, shown).toBe(1);
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
  });

  it('shows help and the full arguments, and asks again', async () => {
    const folder = newFolder();
    const source = `await tools.writeFile({ path: 'a.txt', content: 'x'.repeat(9000) + 'THE END' });`;
    const { shown } = await atTerminal(command(folder, source), [
      [PROMPT, '?'],
      ['show the full arguments', ''],
      [PROMPT, 'q'],
      [PROMPT, 'v'],
      ['THE END"', ''],
      [PROMPT, 'n\r'],
    ]);
    expect(shown.split(PROMPT)).toHaveLength(5);
  });

  it.skipIf(!hasExecSandbox)('is asked once for all calls to a tool if the answer is "always"', async () => {
    const folder = newFolder();
    const source = `await Promise.all(['a', 'b'].map((name) => tools.writeFile({ path: name + '.txt', content: name })));
await tools.writeFile({ path: 'c.txt', content: 'c' });
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

  it('is asked alone, one after the other', async () => {
    const folder = newFolder();
    const source = `return (await Promise.allSettled(['a', 'b'].map((name) => tools.writeFile({ path: name + '.txt', content: name })))).map((one) => one.status);`;
    const { shown } = await atTerminal(command(folder, source), [
      [PROMPT, 'y'],
      [PROMPT, 'n\r'],
    ]);
    // Each call asks when its preview has been made.
    const isFirstA = shown.indexOf('Create a.txt') < shown.indexOf('Create b.txt');
    const statuses = isFirstA ? '["fulfilled","rejected"]' : '["rejected","fulfilled"]';
    expect(shown.replaceAll(/\s/gu, '')).toContain(statuses);
    expect([existsSync(join(folder, 'a.txt')), existsSync(join(folder, 'b.txt'))]).toEqual([isFirstA, !isFirstA]);
  });

  it('shows no character that controls the terminal', async () => {
    const folder = newFolder();
    const source = String.raw`await tools.exec({ command: ['echo', '\x1b]0;owned\x07\u202e\u200b'], approvalContext: '\x1b[2J\x9b2Jgood \u202ereason' });`;
    const { shown } = await atTerminal(
      command(folder, source),
      [
        [PROMPT, 'v'],
        [PROMPT, 'n\r'],
      ],
      { NO_COLOR: '1' },
    );
    expect(shown).toContain('owned');
    expect(shown.replaceAll('\r\x1b[2K', '')).not.toMatch(/[\x1b\x07\x9b\u202e\u200b]/u);
  });

  it('is left for later after approvalTimeoutMs, and its decision does not expire', async () => {
    const folder = newFolder();
    const { status, shown } = await atTerminal(command(folder, WRITE, '--limit approvalTimeoutMs=300'), [
      [PROMPT, ''],
      ['No answer for 300 ms', ''],
    ]);
    expect(status).toBe(3);
    const id = /scr_[\w-]+/u.exec(shown)![0];
    const resumed = await toolscript(['resume', id, '--approve']);
    expect(resumed, resumed.stderr).toMatchObject({ status: 0 });
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
  });

  it('takes a reason after n, which the script reads', async () => {
    const folder = newFolder();
    const source = `try { ${WRITE} } catch (error) { return error.message }`;
    const { status, shown } = await atTerminal(command(folder, source), [
      [PROMPT, 'n'],
      ['Why?', 'not on Mop\x1b[D\x7f\x7f'],
      ['\b \b', 'onday\r'],
    ]);
    expect(status, shown).toBe(0);
    expect(shown).toMatch(/^".*: not on Monday\.?"\r?$/mu);
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
  });

  it('is left for later at Ctrl-C, and with l', async () => {
    for (const [key, expected] of [
      ['\x03', 130],
      ['l', 3],
    ] as const) {
      const folder = newFolder();
      const { status, shown } = await atTerminal(command(folder, WRITE), [[PROMPT, key]]);
      expect(status).toBe(expected);
      expect(shown).toMatch(/toolscript resume scr_\S+ --approve/u);
      expect(existsSync(join(folder, 'a.txt'))).toBe(false);
    }
  });

  it('about the plan shows the plan first, and covers exactly the calls in it', async () => {
    const folder = newFolder();
    const source = `await tools.writeFile({ path: 'a.txt', content: 'a' });
await tools.exec({ command: ['true'] }).catch(() => {});
const run = tools['write' + 'File'];
await run({ path: 'c.txt', content: 'c' });`;
    const { status, shown } = await atTerminal(command(folder, source, '--exec-sandbox off'), [
      [PROMPT, 'p'],
      ['exec true  line 2', ''],
      ['all of these?', 'n'],
      [PROMPT, 'p'],
      ['all of these?', 'y'],
      ['line 4 of the script', ''],
      [PROMPT, 'y'],
    ]);
    expect(status, shown).toBe(0);
    expect(shown.split(PROMPT)).toHaveLength(4);
    for (const name of ['a', 'c']) expect(readFileSync(join(folder, `${name}.txt`), 'utf8')).toBe(name);
  });

  it('can be answered with other arguments; arguments that do not fit are reported and not used', async () => {
    const folder = newFolder();
    const written = [`{ no json`, `{"path":"b.txt","content":7}`, `{"path":"b.txt","content":"mine"}`];
    written.forEach((text, index) => writeFileSync(join(folder, `edit${index}`), text));
    const editor = join(folder, 'editor');
    writeFileSync(
      editor,
      `#!/bin/sh\nstat -c %a "$1" >> ${folder}/modes\nn=$(wc -l < ${folder}/modes)\ncp ${folder}/edit$((n - 1)) "$1"\n`,
      { mode: 0o755 },
    );
    const { status, shown } = await atTerminal(
      command(folder, WRITE),
      [
        [PROMPT, 'e'],
        ['is not JSON', ''],
        [PROMPT, 'e'],
        ['do not fit', ''],
        [PROMPT, 'e'],
        ['With your arguments', ''],
        [PROMPT, 'y'],
      ],
      { VISUAL: editor },
    );
    expect(status, shown).toBe(0);
    expect(existsSync(join(folder, 'a.txt'))).toBe(false);
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('mine');
    expect(readFileSync(join(folder, 'modes'), 'utf8')).toBe('600\n600\n600\n');
  });

  it('reports why the editor failed, and is asked again', async () => {
    const folder = newFolder();
    const { status } = await atTerminal(
      command(folder, WRITE),
      [
        [PROMPT, 'e'],
        ['ended with status 1', ''],
        [PROMPT, 'n\r'],
      ],
      { EDITOR: 'false' },
    );
    expect(status).toBe(1);
  });

  it('about an undo is not answered by keys that were typed before it, and y undoes', async () => {
    const folder = newFolder();
    const undo = `cd ${folder} && ${process.execPath} ${PROGRAM} undo`;
    const path = join(folder, 'a.txt');
    const first = await atTerminal(`${command(folder, WRITE, '--approve auto')} && ${undo}`, [
      ['', 'y'],
      ['[y/N]', 'n'],
      ['Nothing was changed', ''],
    ]);
    expect(existsSync(path), first.shown).toBe(true);
    const second = await atTerminal(undo, [['[y/N]', 'y']]);
    expect(existsSync(path), second.shown).toBe(false);
  });

  it('is asked at the terminal when the answer comes through a pipe', async () => {
    const folder = newFolder();
    const path = answerFile(folder, WRITE);
    const piped = `cat ${path} | ${process.execPath} ${PROGRAM} run --cwd ${folder}`;
    const { status } = await atTerminal(piped, [[PROMPT, 'y']]);
    expect(status).toBe(0);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
  });

  it('never reaches stdout when events go there', async () => {
    const folder = newFolder();
    const events = join(folder, 'events.jsonl');
    const { status } = await atTerminal(`${command(folder, WRITE, '--json')} > ${events}`, [[PROMPT, 'y']]);
    expect(status).toBe(0);
    for (const line of readFileSync(events, 'utf8').trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });
});

describe('pressed keys', () => {
  it.each([
    ['y', 'yes'],
    ['Y', 'yes'],
    ['yes\r', 'yes'],
    ['n', 'no'],
    ['\r', 'no'],
    ['\x04', 'no'],
    ['\x1b', 'no'],
    ['a', 'always'],
    ['w', 'workspace'],
    ['p', 'plan'],
    ['e', 'edit'],
    ['s', 'session'],
    ['l', 'suspend'],
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
