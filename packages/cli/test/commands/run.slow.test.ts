import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamEventSchema, type StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../support/in-process.js';
import { finished, said, start, toolscript, PROGRAM } from '../support/program.js';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';

const ANSWER = [
  '<thinking>Look first, \u00e9.</thinking>\n',
  'I look at the folder. Caf\u00e9 \u{1f44d}\r\n',
  '<tool-calls>\n',
  "const { entries } = await tools.listDir({ path: '.' });\nconsole.log('found', entries.length);\ntext('said aloud');\nreturn { count: entries.length };\n",
  '</tool-calls>\n',
  'Now I write.\n\n',
  '```ts tool-calls\n',
  "await tools.writeFile({ path: 'out.txt', content: 'hi\\n' });\nreturn (await tools.readFile({ path: 'out.txt' })).lines;\n",
  '```\n',
  'Done.\n',
].join('');

function folderWithFile(): string {
  const folder = newFolder();
  writeFileSync(join(folder, 'there.txt'), 'text\n');
  return folder;
}

function script(source: string): string {
  return `<tool-calls>\n${source}\n</tool-calls>\n`;
}

function parseEvents(stdout: string): StreamEvent[] {
  expect(stdout.endsWith('\n')).toBe(true);
  return stdout
    .slice(0, -1)
    .split('\n')
    .map((line) => StreamEventSchema.parse(JSON.parse(line)));
}

function finalItems(events: StreamEvent[]) {
  return events.flatMap(({ payload }) => (payload.type === 'item_done' ? [payload.final_item] : []));
}

describe('toolscript run --json', () => {
  it('prints the events of an answer in order and nothing else, keeps its text, and changes the folder', async () => {
    const cwd = folderWithFile();
    const { status, stdout, stderr } = await toolscript(['run', '-', '--cwd', cwd, '--approve', 'auto', '--json'], {
      stdin: ANSWER,
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
    const events = parseEvents(stdout);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events[0]?.payload.type).toBe('response_start');
    expect(events.at(-1)?.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    const items = finalItems(events);
    expect(items.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'script_execution',
      'script_execution_output',
      'message',
      'script_execution',
      'script_execution_output',
      'message',
    ]);
    const kept = items
      .map((item) => ('content' in item ? item.content : 'source_code' in item ? item.source_code : ''))
      .join('');
    expect(kept).toBe(ANSWER.replaceAll(/<\/?thinking>|<tool-calls>\n|<\/tool-calls>|```(?:ts tool-calls\n)?/gu, ''));
    expect(readFileSync(join(cwd, 'out.txt'), 'utf8')).toBe('hi\n');
    const order = events.flatMap(({ payload }) =>
      payload.type === 'tool_call_done'
        ? [payload.operation.tool]
        : payload.type === 'script_log'
          ? ['log']
          : payload.type === 'item_done'
            ? [payload.final_item.type]
            : [],
    );
    expect(order.slice(2, 6)).toEqual(['script_execution', 'listDir', 'log', 'script_execution_output']);
  });

  it('lets a script use the variables of the scripts before it, with --one-program alone', async () => {
    const cwd = folderWithFile();
    const answer = script('const rows = [1, 2, 3];\nreturn rows.length') + script('return typeof rows');
    for (const [flags, kind] of [
      [['--one-program'], 'object'],
      [[], 'undefined'],
    ] as const) {
      const { stdout } = await toolscript(['run', '-', '--cwd', cwd, '--json', ...flags], { stdin: answer });
      const outputs = finalItems(parseEvents(stdout)).filter(({ type }) => type === 'script_execution_output');
      expect(outputs).toMatchObject([{ result: 3 }, { result: kind }]);
    }
  });

  it('prints nothing on stdout if the input is wrong', async () => {
    const { status, stdout, stderr } = await toolscript(['run', '-', '--json'], { stdin: Buffer.from([0x61, 0xff]) });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('byte 1');
  });

  it('runs a script as soon as its block is closed, while the answer is still being written', async () => {
    const cwd = folderWithFile();
    const pipe = await namedPipe(cwd);
    const command = `(printf '%s\\n' '<tool-calls>' 'return 42' '</tool-calls>'; cat "$3") | "$0" "$1" run - --json --cwd "$2"`;
    const child = start('sh', ['-c', command, process.execPath, PROGRAM, cwd, pipe]);
    const end = finished(child);
    await said(child, '"result":42');
    writeFileSync(pipe, 'the end\n');
    const { status, stdout } = await end;
    expect(status).toBe(0);
    expect(stdout).toContain('the end');
  });
});

/** A named pipe without a writer yet. */
async function namedPipe(folder: string): Promise<string> {
  const path = join(folder, 'pipe');
  await finished(start('mkfifo', [path]));
  return path;
}

describe('toolscript run', () => {
  it('shows the value of a script without a return, and does not mention the repair', async () => {
    const { status, stdout, stderr } = await toolscript(['eval', '-e', '6 * 7']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('42');
    expect(stdout).not.toContain('note');
  });

  it('shows the text, the scripts, each call, the console, the output, the value and how it ended', async () => {
    const cwd = folderWithFile();
    const { status, stdout, stderr } = await toolscript(['run', '-', '--cwd', cwd, '--approve', 'auto'], {
      stdin: ANSWER,
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).not.toContain('Look first');
    expect(stdout).not.toContain('\x1b');
    const plain = stdout.replaceAll(/\d+(?:\.\d+)? m?s/gu, 'N ms').replaceAll(/script [0-9a-f]{8}/gu, 'script HASH');
    expect(plain).toContain(
      [
        'I look at the folder. Caf\u00e9 \u{1f44d}\r',
        '▶ script HASH (ts, 4 lines)',
        '  ✓ listDir .  N ms',
        '[script] found 1',
        'said aloud',
        '{\n  "count": 1\n}',
        '✔ completed in N ms · 1 tool call (listDir)',
      ].join('\n'),
    );
    expect(plain).toContain('✔ completed in N ms · 2 tool calls (writeFile, readFile)');
    expect(plain.endsWith('Done.\n')).toBe(true);
  });

  it('shows where a script failed, and continues with later scripts only on request', async () => {
    const cwd = folderWithFile();
    const stdin = script("const n = 1;\nthrow new Error('no good')") + script("return 'second'");
    const stopped = await toolscript(['run', '-', '--cwd', cwd], { stdin });
    expect(stopped.status).toBe(1);
    expect(stopped.stdout).toMatch(
      /✘ failed in [\s\S]*ScriptRuntimeError: [\s\S]*no good[\s\S]*line 2[\s\S]*> 2 \| throw/u,
    );
    expect(stopped.stdout).not.toContain('second');
    const continued = await toolscript(['run', '-', '--cwd', cwd, '--continue-on-error'], { stdin });
    expect(continued.status).toBe(1);
    expect(continued.stdout).toContain('"second"');
  });

  it('prints no character that controls a terminal, whatever its source', async () => {
    const cwd = newFolder();
    const evil = '\x1b]0;owned\x07\x9b2J\u202e\u200b';
    writeFileSync(join(cwd, 'evil.txt'), evil);
    const source = `const { lines } = await tools.readFile({ path: 'evil.txt' });
console.log(lines[0]); context.emitProgress(lines[0]); text(lines[0]);
await tools.readFile({ path: lines[0] }).catch(() => {});
if (lines.length > 0) throw new Error(lines[0]);`;
    for (const flags of [[], ['--json']]) {
      const { stdout, stderr } = await toolscript(['run', '-', '--cwd', cwd, ...flags], {
        stdin: `Text ${evil}\n${script(source)}`,
      });
      expect(stdout).toContain('owned');
      expect(stdout + stderr).not.toMatch(/[\x1b\x07\x9b\u202e\u200b]/u);
    }
  });

  it('uses colour only where it is allowed', async () => {
    const stdin = script('return 1');
    expect((await toolscript(['run', '-'], { stdin, env: { FORCE_COLOR: '1' } })).stdout).toContain('\x1b[32m');
    expect((await toolscript(['run', '-'], { stdin, env: { NO_COLOR: '1' } })).stdout).not.toContain('\x1b');
  });

  it('only checks in a dry run', async () => {
    const cwd = newFolder();
    const { status, stdout } = await toolscript(['run', '-', '--cwd', cwd, '--mode', 'dry-run', '--approve', 'auto'], {
      stdin: ANSWER,
    });
    expect(status).toBe(0);
    expect(stdout).toContain('  · writeFile out.txt  line 1\n  · readFile out.txt  line 2\n');
    expect(() => readFileSync(join(cwd, 'out.txt'))).toThrow();
  });

  it('keeps the text and runs nothing if scripts are disabled', async () => {
    const { status, stdout } = await toolscript(['run', '-', '--mode', 'disabled'], { stdin: ANSWER });
    expect(status).toBe(0);
    expect(stdout).not.toContain('▶');
    expect(stdout).toContain('Done.');
  });

  it('ends without a message when its reader has gone', async () => {
    const cwd = folderWithFile();
    const many = script("for (let i = 0; i < 150; i++) console.log('line', i, 'x'.repeat(1500));");
    const command = `"$0" "$1" run - --cwd "$2" --limit maxLogBytes=9000000 | head -n 1`;
    const { status, stdout, stderr } = await finished(
      start('sh', ['-c', command, process.execPath, PROGRAM, cwd], { stdin: many.repeat(3) }),
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n')).toHaveLength(2);
  });

  it('stops at Ctrl-C, reports the completed work, and leaves no child process', async () => {
    const cwd = folderWithFile();
    const source =
      "await tools.readFile({ path: 'there.txt' });\nconsole.log('ready');\nawait tools.exec({ command: ['sh', '-c', 'echo $$ > pid; exec sleep 300'] });";
    // Inside a sandbox, the process would see another number.
    const child = start(
      process.execPath,
      [PROGRAM, 'run', '-', '--cwd', cwd, '--approve', 'auto', '--exec-sandbox', 'off'],
      {
        stdin: script(source),
      },
    );
    const end = finished(child);
    await said(child, 'ready');
    const pid = await pidIn(join(cwd, 'pid'));
    child.kill('SIGINT');
    const { status, stdout } = await end;
    expect(status).toBe(130);
    expect(stdout).toContain('✓ readFile there.txt');
    expect(stdout).toMatch(/exec sh [\s\S]*aborted/u);
    expect(stdout).toContain('ScriptCancelledError');
    await until(() => isGone(pid));
  });
});

/** Waits until the command has written its process id. */
async function pidIn(path: string): Promise<number> {
  for (;;) {
    try {
      const pid = Number(readFileSync(path, 'utf8'));
      if (pid > 0) return pid;
    } catch {
      // It has not started yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
}

describe('unusual input', () => {
  const cwd = newFolder();
  const file = (name: string, content: string | Uint8Array): string => {
    const path = join(cwd, name);
    writeFileSync(path, content);
    return path;
  };
  mkdirSync(join(cwd, 'folder'));

  it.each([
    ['a missing file', ['run', join(cwd, 'nope.md')], 'There is no file'],
    ['code in place of a file', ['eval', 'return 1 + 1'], "toolscript eval -e 'return 1 + 1'"],
    ['a folder', ['run', join(cwd, 'folder')], 'is a folder. Name a file in it.'],
    ['a binary file', ['run', file('binary', Uint8Array.of(1, 0, 2))], 'is binary (byte 1 is NUL)'],
    ['no UTF-8', ['run', file('latin1', Uint8Array.of(0x63, 0xe9, 0x21))], 'is not UTF-8: byte 1 (0xe9)'],
    ['UTF-16', ['run', file('utf16', Buffer.from('\ufeffhi', 'utf16le'))], 'is UTF-16 text. Save it as UTF-8'],
    ['no input at all', ['run'], 'There is no input. Pass the file'],
    ['an empty name', ['run', ''], 'not a path'],
    ['an empty script', ['eval', file('empty.ts', '')], 'is empty. Pass a script to run.'],
    ['a script of blanks', ['eval', '-e', ' \n'], 'is empty'],
    ['no script at all', ['eval'], 'There is no input. Pass a script file'],
    ['two scripts', ['eval', '-e', 'return 1', 'x.ts'], 'The script is given twice'],
    ['a workspace that is not there', ['run', file('a.md', 'a'), '--cwd', join(cwd, 'nope')], 'There is no folder'],
    ['a workspace that is a file', ['run', file('a.md', 'a'), '--cwd', file('b.md', 'a')], 'is not a folder'],
    ['an unknown option', ['run', '--jsn'], 'Did you mean --json?'],
    ['an unknown command', ['rnu'], 'Did you mean run?'],
    [
      'a value that an option does not take',
      ['run', 'x', '--approve', 'yes'],
      '--approve cannot be yes. Write: --approve auto|deny|ask',
    ],
    ['an unknown limit', ['run', file('a.md', 'a'), '--limit', 'timeoutms=1'], 'Did you mean timeoutMs?'],
    ['a limit that is no number', ['run', file('a.md', 'a'), '--limit', 'timeoutMs=soon'], 'expected number'],
    ['a limit that is too small', ['run', file('a.md', 'a'), '--limit', 'memoryMb=1'], '>=4'],
    ['a limit without a value', ['run', file('a.md', 'a'), '--limit', 'memoryMb'], 'NAME=VALUE'],
    ['an unknown tool', ['run', file('a.md', 'a'), '--tools', 'readFlie'], 'Did you mean readFile?'],
    ['an unknown pack', ['run', file('a.md', 'a'), '--pack', 'fileops'], 'Did you mean file-ops?'],
    [
      'a runtime whose package is not installed',
      ['run', file('a.md', '```ts run\nreturn 1\n```'), '--runtime', 'isolated-vm'],
      'needs the package isolated-vm, which is not installed. Run: npm install @toolscript/isolated-vm isolated-vm@',
    ],
    ['nothing said at all', [], 'Usage: toolscript'],
  ])('%s is one message on stderr and status 2', async (_name, args, message) => {
    const { status, stdout, stderr } = await inProcess(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
  });

  it('an answer without a script is not a failure', async () => {
    for (const stdin of ['', 'only text\n']) {
      const { status, stdout, stderr } = await toolscript(['run', '-'], { stdin });
      expect({ status, stdout }).toEqual({ status: 0, stdout: stdin });
      expect(stderr).toContain('no script');
    }
  });

  it('a byte order mark and CRLF change nothing', async () => {
    const stdin = `\ufeff${script('const one = 1;\nreturn one + 1')}`.replaceAll('\n', '\r\n');
    const { status, stdout } = await toolscript(['run', '-'], { stdin });
    expect(status).toBe(0);
    expect(stdout).toMatch(/\n2\n✔/u);
    expect((await toolscript(['eval', '-', '--json'], { stdin: '\ufeffreturn 1\r\n' })).status).toBe(0);
  });

  it('ten megabytes of text are shown completely', async () => {
    const stdin = `${'x'.repeat(10 * 1024 * 1024)}\n${script('return 7')}`;
    const { status, stdout } = await toolscript(['run', '-'], { stdin });
    expect(status).toBe(0);
    expect(stdout.length).toBeGreaterThan(stdin.length - 100);
    expect(stdout).toContain('\n7\n✔');
  });

  it('an unfinished block fails and nothing of it runs', async () => {
    const workspace = newFolder();
    const stdin = "<tool-calls>\nawait tools.writeFile({ path: 'x', content: 'x' });\n";
    const { status, stdout } = await toolscript(['run', '-', '--cwd', workspace, '--approve', 'auto'], { stdin });
    expect(status).toBe(1);
    expect(stdout).toContain('ScriptSyntaxError');
    expect(() => readFileSync(join(workspace, 'x'))).toThrow();
  });
});
