import { CommanderError, type Command } from 'commander';
import { useStoredKeys } from './configuration/provider-keys.js';
import { EXIT } from './exit-status.js';
import type { Engines } from './harness/engines.js';
import { stdinBringsText } from './input/source.js';
import { addAcp } from './program/editor-commands.js';
import { addCompletion } from './program/completion.js';
import { addMcp } from './program/mcp-commands.js';
import {
  addCancel,
  addChat,
  addEval,
  addRecover,
  addReplay,
  addResume,
  addRun,
  addWait,
  type WithEngines,
} from './program/script-commands.js';
import { addAdmin, addKeys, addServe } from './program/server-commands.js';
import { addConnect, addDoctor, addRules, addTools, addTrust } from './program/setup-commands.js';
import { ownVersion } from './own-version.js';
import { addApprovals, addRuns, addSnippets, addThreads, addUndo } from './program/stored-commands.js';
import { ToolscriptCommand, example, findCommand, refuseEmpty, type Settle } from './program/toolscript-command.js';
import { visible } from './terminal/untrusted.js';
import { fileCodeIn, isUsageError } from './usage-error.js';

const FILES_FIX =
  'Give your user permission for this file or folder, and free disk space. HOME, XDG_CONFIG_HOME and XDG_DATA_HOME set the locations of your own files.';

type StartEngines = () => Promise<Engines>;

/** The commands, in the order of the help. */
const COMMANDS: ReadonlyMap<string, (program: Command, settle: Settle, withEngines: WithEngines) => void> = new Map([
  ['chat', addChat],
  ['run', addRun],
  ['eval', addEval],
  ['resume', addResume],
  ['recover', addRecover],
  ['wait', addWait],
  ['cancel', addCancel],
  ['approvals', addApprovals],
  ['replay', addReplay],
  ['undo', addUndo],
  ['threads', addThreads],
  ['runs', addRuns],
  ['snippets', addSnippets],
  ['serve', addServe],
  ['keys', addKeys],
  ['admin', addAdmin],
  ['mcp', addMcp],
  ['acp', addAcp],
  ['connect', addConnect],
  ['tools', addTools],
  ['doctor', addDoctor],
  ['trust', addTrust],
  ['rules', addRules],
  [
    'completion',
    (program, settle, withEngines) => addCompletion(program, () => createProgram('', settle, withEngines)),
  ],
]);

/**
 * Runs one command line. Returns the exit status; never rejects. `start` provides the engines for a host that runs
 * several command lines in one process.
 */
export async function runProgram(args: readonly string[], start: StartEngines = startOwnEngines): Promise<number> {
  let status: number = EXIT.completed;
  const program = createProgram(
    args[0] ?? '',
    (settled) => (status = settled),
    (act) => withEngines(start, act),
  );
  try {
    // Without a prompt, a terminal or text on stdin, the program prints its help.
    if (args.length === 0 && !isConversation() && !stdinBringsText()) program.help({ error: true });
    await useStoredKeys(process.env, (message) => void reportError(message, EXIT.completed));
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    // The parser also exits, with the code 0, after it has printed the help or the version.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    if (isUsageError(error)) return reportError(error.message, EXIT.usage);
    const code = error instanceof Error ? fileCodeIn(error.message) : undefined;
    if (code !== undefined) return reportError(`${(error as Error).message}. ${FILES_FIX}`, EXIT.usage);
    return reportFault(error);
  }
}

function isConversation(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** Reports an internal error of Toolscript. Returns the exit status. */
export function reportFault(error: unknown): number {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return reportError(`Toolscript itself failed. Please report the failure with this text:\n${detail}`, EXIT.failed);
}

function reportError(message: string, status: number): number {
  process.stderr.write(`toolscript: ${visible(message)}\n`);
  return status;
}

/**
 * Creates the parser. If the command line begins with a command, adds only this command. Otherwise adds all commands,
 * for the help, a prompt, or a mistyped command.
 */
function createProgram(name: string, settle: Settle, withEngines: WithEngines): Command {
  const program = new ToolscriptCommand('toolscript')
    .description('Talks to a language model that writes scripts, which run in a sandbox and call tools on your folder.')
    .version(ownVersion(), '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Print this help')
    .helpCommand(false)
    .addHelpText(
      'after',
      example(
        'toolscript "fix the failing tests"',
        'toolscript run answer.md --cwd my-project',
        'toolscript eval -e "return 1 + 1"',
        'toolscript doctor',
      ),
    )
    .exitOverride()
    .hook('preAction', (_program, command) => refuseEmpty(command));
  const named = COMMANDS.get(name);
  for (const add of named === undefined ? COMMANDS.values() : [named]) add(program, settle, withEngines);
  addHelp(program);
  return program;
}

async function startOwnEngines(): Promise<Engines> {
  const { startEngines } = await import('./harness/engines.js');
  return startEngines();
}

/** Calls `act` with engines, and closes them afterwards. They start first, so that `act` can load code meanwhile. */
async function withEngines(start: StartEngines, act: (engines: Engines) => Promise<number>): Promise<number> {
  const engines = await start();
  try {
    return await act(engines);
  } finally {
    await engines.close();
  }
}

function addHelp(program: Command): void {
  program
    .command('help')
    .argument('[command...]', 'the command')
    .description('Print the help of a command')
    .action((names: string[]) => findCommand(program, names).help());
}
