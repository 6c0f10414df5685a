import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ListFlags } from '../commands/approvals.js';
import type { DecideFlags } from '../commands/decide.js';
import type { UndoFlags } from '../commands/undo.js';
import type { RunsFlags } from '../commands/runs.js';
import type { ExportFlags, ThreadsFlags } from '../commands/threads.js';
import { SCRIPT } from './script-commands.js';
import type { SnippetsFlags } from '../commands/snippets.js';
import { example, type Settle } from './toolscript-command.js';

const SNIPPET = "the script's name (toolscript snippets lists the names)";
const RUN = "the run's id, or a prefix of it (toolscript runs lists the ids)";
const CONVERSATION = "the conversation's id, or a prefix of it (toolscript threads lists the ids)";

export function addThreads(program: Command, settle: Settle): void {
  const threads = program
    .command('threads')
    .description('Show the conversations that can be continued; rename, export or delete them')
    .option('--all', 'show the conversations of every workspace')
    .option('--cwd <folder>', 'the workspace (default: this folder)')
    .option(
      '--search <text>',
      'show only conversations with this text in the title, a prompt, an answer or a file name',
    )
    .option('--json', 'print the conversations as JSON')
    .addHelpText(
      'after',
      example(
        'toolscript threads --search "failing tests"',
        'toolscript threads export thr_abc -o conversation.md',
        'toolscript threads delete thr_abc thr_def',
      ),
    )
    .action(async (flags: ThreadsFlags) => settle(await (await threadCommands()).listThreads(flags)));
  threads
    .command('rename')
    .argument('<id>', CONVERSATION)
    .argument('<title>', 'the new title')
    .description('Rename a conversation')
    .action(async (id: string, title: string) => settle(await (await threadCommands()).renameThread(id, title)));
  threads
    .command('export')
    .argument('<id>', CONVERSATION)
    .description('Write a conversation to stdout, or to a file')
    .addOption(
      new Option('--format <format>', 'a document to read, or one event a line (default: markdown)').choices([
        'markdown',
        'jsonl',
      ]),
    )
    .option('-o, --output <file>', 'the file to write; an existing file is replaced')
    .action(async (id: string, flags: ExportFlags) => settle(await (await threadCommands()).exportThread(id, flags)));
  threads
    .command('delete')
    .argument('<ids...>', "the conversations' ids, or prefixes of them (toolscript threads lists the ids)")
    .description('Delete conversations with all their messages')
    .action(async (ids: string[]) => settle(await (await threadCommands()).deleteThreads(ids)));
}

export function addRuns(program: Command, settle: Settle): void {
  const runs = program
    .command('runs')
    .description('Show the runs that work, wait or are queued; watch or stop them')
    .option('--all', 'show also runs that have ended')
    .option('--json', 'print the runs, or the events of a run, as JSON')
    .addHelpText(
      'after',
      example(
        'toolscript "fix the failing tests" --background',
        'toolscript runs attach run_abc',
        'toolscript runs stop run_abc',
      ),
    )
    .action(async (flags: RunsFlags) => settle(await (await runCommands()).listRuns(flags)));
  runs
    .command('attach')
    .argument('<id>', RUN)
    .description('Show a run from its beginning until it ends or waits; Ctrl-C leaves it')
    .action(async (id: string, _flags: object, command: Command) =>
      settle(await (await runCommands()).attachToRun(id, command.optsWithGlobals())),
    );
  runs
    .command('stop')
    .argument('<ids...>', "the runs' ids, or prefixes of them (toolscript runs lists the ids)")
    .description('Cancel runs; what they have done stays')
    .action(async (ids: string[]) => settle(await (await runCommands()).stopRuns(ids)));
}

export function addSnippets(program: Command, settle: Settle): void {
  const snippets = program
    .command('snippets')
    .description('Show the scripts that models have saved for later scripts; show or delete a saved script')
    .option('--cwd <folder>', 'the workspace (default: this folder)')
    .option('--thread <id>', `show also the scripts of a conversation: ${CONVERSATION}`)
    .option('--json', 'print the scripts as JSON')
    .addHelpText('after', example('toolscript snippets show topEarners', 'toolscript snippets delete topEarners'))
    .action(async (flags: SnippetsFlags) => settle(await (await snippetCommands()).listSavedScripts(flags)));
  snippets
    .command('show')
    .argument('<name>', SNIPPET)
    .description('Print a saved script with the schemas of its input and result')
    .addOption(scopeOption())
    .option('--saved <version>', 'the version to print (default: the newest)', versionNumber)
    .action(async (name: string, _flags: object, command: Command) =>
      settle(await (await snippetCommands()).showSavedScript(name, command.optsWithGlobals())),
    );
  snippets
    .command('delete')
    .argument('<name>', SNIPPET)
    .description('Delete all versions of a saved script; scripts that run it already keep it')
    .addOption(scopeOption())
    .action(async (name: string, _flags: object, command: Command) =>
      settle(await (await snippetCommands()).deleteSavedScript(name, command.optsWithGlobals())),
    );
}

function versionNumber(value: string): number {
  if (/^[1-9]\d{0,8}$/u.test(value)) return Number(value);
  throw new InvalidArgumentError('The version must be a number, as `toolscript snippets` shows it.');
}

function scopeOption(): Option {
  return new Option('--scope <scope>', 'the saved script of this scope').choices(['thread', 'principal', 'workspace']);
}

export function addApprovals(program: Command, settle: Settle): void {
  const approvals = program
    .command('approvals')
    .description('Show the scripts that wait for a decision, or were interrupted')
    .option('--all', 'show also running and ended scripts')
    .option('--json', 'print the scripts as JSON')
    .addHelpText('after', example('toolscript approvals', 'toolscript approvals show scr_abc_0'))
    .action(async (flags: ListFlags) => {
      const { listApprovals } = await import('../commands/approvals.js');
      settle(await listApprovals(flags));
    });
  approvals
    .command('show')
    .argument('<id>', SCRIPT)
    .description('Show a script, its operations and its pending approvals')
    .option('--json', 'print the script as JSON')
    .action(async (id: string, _flags: object, command: Command) => {
      const { showApprovals } = await import('../commands/approvals.js');
      settle(await showApprovals(id, command.optsWithGlobals()));
    });
  addDecision(
    approvals,
    settle,
    'approve',
    'Approve pending calls; the program that waits for them resumes the script',
  );
  addDecision(approvals, settle, 'deny', 'Refuse pending calls; the program that waits for them resumes the script');
  approvals
    .command('delete')
    .argument('<id>', SCRIPT)
    .description('Delete a script; it never runs again')
    .option('--json', 'print the id of the deleted script as JSON')
    .action(async (id: string, _flags: object, command: Command) => {
      const { deleteApproval } = await import('../commands/approvals.js');
      settle(await deleteApproval(id, command.optsWithGlobals()));
    });
  approvals
    .command('prune')
    .description('Delete old scripts')
    .option('--ended-days <days>', 'delete scripts that ended more than this many days ago (default: 7)')
    .option(
      '--waiting-days <days>',
      'delete scripts that have been suspended or interrupted for more than this many days (default: none)',
    )
    .option('--json', 'print the ids of the deleted scripts as JSON')
    .action(async (_flags: object, command: Command) => {
      const { pruneApprovals } = await import('../commands/approvals.js');
      settle(await pruneApprovals(command.optsWithGlobals()));
    });
}

export function addUndo(program: Command, settle: Settle): void {
  program
    .command('undo')
    .argument('[id]', `${SCRIPT}; default: the newest script of this workspace that changed files`)
    .description('Undo the file changes of a script; changes by commands of exec are not recorded')
    .option('--redo', 'redo the changes that the last undo reverted')
    .option('--dry-run', 'show the changed lines, and change nothing')
    .option('--yes', 'undo without a question')
    .option('--cwd <folder>', 'the workspace of the newest script (default: this folder)')
    .option('--thread <id>', 'the newest script of this conversation')
    .option('--json', 'print the report of the undo as JSON')
    .addHelpText(
      'after',
      example('toolscript undo --dry-run', 'toolscript undo scr_abc_0', 'toolscript undo scr_abc_0 --redo'),
    )
    .action(async (id: string | undefined, flags: UndoFlags) => {
      const { undoScript } = await import('../commands/undo.js');
      settle(await undoScript(id, flags));
    });
}

function snippetCommands() {
  return import('../commands/snippets.js');
}

function runCommands() {
  return import('../commands/runs.js');
}

function threadCommands() {
  return import('../commands/threads.js');
}

function addDecision(approvals: Command, settle: Settle, verdict: 'approve' | 'deny', description: string): void {
  approvals
    .command(verdict)
    .argument('<id>', SCRIPT)
    .argument('[approval...]', 'the ids of the approvals (default: all pending approvals)')
    .description(description)
    .option('--note <text>', 'a note; the script reads it if you deny')
    .action(async (id: string, names: string[], flags: DecideFlags) => {
      const { decideApprovals } = await import('../commands/decide.js');
      settle(await decideApprovals(id, names, verdict, flags));
    });
}
