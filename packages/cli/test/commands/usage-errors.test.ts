import { describe, expect, it } from 'vitest';
import { Place } from '../support/place.js';

const THREAD = "the conversation's id, or a prefix of it (toolscript threads lists the ids)";
const SCRIPT = "the script's id, or a prefix of it (toolscript approvals lists the ids)";

/** A command line, and the text of stderr after `toolscript: `. */
const MISTAKES: readonly (readonly [args: readonly string[], sentence: string])[] = [
  [
    ['admin', 'dead-letter', 'lst'],
    'There is no command admin dead-letter lst. Did you mean list? Write: toolscript admin dead-letter list',
  ],
  [['threads', 'lst'], 'There is no command threads lst. To list: toolscript threads'],
  [['threads', 'ls', '--all'], 'There is no command threads ls. To list: toolscript threads'],
  [
    ['threads', 'rm', 'thr_1', '--force'],
    'There is no command threads rm. Did you mean delete? Write: toolscript threads delete thr_1 --force',
  ],
  [
    ['threads', 'exprt', 'thr_1', '-o', 'a file'],
    "There is no command threads exprt. Did you mean export? Write: toolscript threads export thr_1 -o 'a file'",
  ],
  [
    ['threads', 'xyzzy'],
    'There is no command threads xyzzy. The commands are rename, export, delete; toolscript threads --help describes them.',
  ],
  [
    ['approvals', 'shw', 'scr_1'],
    'There is no command approvals shw. Did you mean show? Write: toolscript approvals show scr_1',
  ],
  [
    ['evl', '-e', 'return 1'],
    "There is no command evl. Did you mean eval? Write: toolscript eval -e 'return 1' (as a prompt: toolscript chat evl -e 'return 1')",
  ],
  [['evla'], 'There is no command evla. Did you mean eval? Write: toolscript eval (as a prompt: toolscript chat evla)'],
  [
    ['--json', 'eval', '-e', 'return 1'],
    "The command eval comes after its options. Write it first: toolscript eval --json -e 'return 1'",
  ],
  [['help', 'thread'], 'There is no command thread. Did you mean threads?'],
  [['help', 'threads', 'xyzzy'], 'There is no command threads xyzzy. toolscript help lists them.'],
  [['threads', 'rename'], `<id> is missing: ${THREAD}. Write: toolscript threads rename <id> <title>`],
  [['threads', 'rename', 'thr_1'], '<title> is missing: the new title. Write: toolscript threads rename thr_1 <title>'],
  [
    ['threads', 'rename', 'thr_1', ' '],
    '<title> is empty: the new title. Write: toolscript threads rename thr_1 <title>',
  ],
  [
    ['threads', 'delete'],
    "<ids...> is missing: the conversations' ids, or prefixes of them (toolscript threads lists the ids). Write: toolscript threads delete <ids...>",
  ],
  [
    ['threads', 'delete', 'thr_1', ''],
    "<ids...> is empty: the conversations' ids, or prefixes of them (toolscript threads lists the ids). Write: toolscript threads delete <ids...>",
  ],
  [['threads', 'export', ''], `<id> is empty: ${THREAD}. Write: toolscript threads export <id>`],
  [['threads', '--search', ''], '--search is empty. Write: --search <text>'],
  [['threads', '--cwd', '', 'export', 'thr_1'], '--cwd is empty. Write: --cwd <folder>'],
  [['x', '--thread', ''], '--thread is empty. Write: --thread <id>'],
  [['x', '--tools', ','], '--tools is empty. Write: --tools <names>'],
  [['resume'], `<id> is missing: ${SCRIPT}. Write: toolscript resume <id>`],
  [['approvals', 'show', ''], `<id> is empty: ${SCRIPT}. Write: toolscript approvals show <id>`],
  [['--thread'], '--thread has no value. Write: --thread <id>'],
  [['run', '--approve'], '--approve has no value. Write: --approve auto|deny|ask'],
  [['run', 'x', '--approve', 'yes'], '--approve cannot be yes. Write: --approve auto|deny|ask'],
  [['tools', '--types', '--json'], '--types and --json cannot be used together. Remove one of them.'],
  [['run', '--jsn'], 'run has no option --jsn. Did you mean --json?'],
  [['--versoin'], 'chat has no option --versoin. Did you mean --version?'],
  [
    ['threads', 'export', 'thr_1', '-x'],
    'threads export has no option -x. toolscript threads export --help lists them.',
  ],
  [
    ['run', 'a', 'b'],
    'run takes one argument, and b is too much. Remove it, or put words that belong together in quotes.',
  ],
  [
    ['doctor', 'now', 'then'],
    'doctor takes no arguments, and now then is too much. Remove it, or put words that belong together in quotes.',
  ],
];

describe('a mistake in the use of a command', () => {
  it.each(MISTAKES)('is one sentence with its fix: %j', async (args, sentence) => {
    expect(await new Place().run(args)).toEqual({
      status: 2,
      signal: null,
      stdout: '',
      stderr: `toolscript: ${sentence}\n`,
    });
  });

  it('is not reported for a prompt that begins with a word similar to a command', async () => {
    for (const words of [
      ['what', 'is', 'this'],
      ['chat', 'evl'],
    ])
      expect((await new Place().run(words)).stderr).toContain('No model has a key');
  });
});

describe('toolscript help', () => {
  it('prints the help of a command and of a subcommand', async () => {
    const place = new Place();
    expect(await place.run(['help', 'run'])).toMatchObject({ status: 0, stderr: '' });
    expect((await place.run(['help', 'threads', 'export'])).stdout).toContain('Usage: toolscript threads export');
    expect((await place.run(['help'])).stdout).toContain('Usage: toolscript [options] [command]');
  });

  it('prints for each command the same as the command itself', async () => {
    const place = new Place();
    const [, list = ''] = (await place.run(['help'])).stdout.split('Commands:\n');
    const names = [...list.split('\n\n')[0]!.matchAll(/^ {2}(\w+)/gmu)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(15);
    for (const name of names) {
      const { stdout } = await place.run([name, '--help']);
      expect(stdout).toMatch(new RegExp(`^Usage: toolscript ${name}\\b`, 'u'));
      expect((await place.run(['help', name])).stdout).toBe(stdout);
    }
  });
});
