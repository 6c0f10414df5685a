import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { ListFlags } from './commands/approvals.js';
import type { ChatFlags } from './commands/chat.js';
import type { EvalFlags } from './commands/eval.js';
import type { ResumeFlags } from './commands/resume.js';
import type { RulesFlags } from './commands/rules.js';
import type { ScriptFlags } from './commands/script-command.js';
import type { ExportFlags, ThreadsFlags } from './commands/threads.js';
import type { ToolsFlags } from './commands/tools.js';
import { EXIT } from './exit-status.js';
import type { Engines } from './harness/engines.js';
import { nearestName } from './nearest-name.js';
import { visible } from './terminal/untrusted.js';
import { fileCodeIn, isUsageError, UsageError } from './usage-error.js';

const WORKSPACE = 'the workspace: the folder that tools may touch (default: this folder)';

const FILES_FIX =
  'Make sure that you may use this file or folder and that there is room; HOME, XDG_CONFIG_HOME and XDG_DATA_HOME say where your own files are.';

type Settle = (status: number) => void;

/** Runs one command line. Answers with the exit status; never rejects. */
export async function runProgram(args: readonly string[]): Promise<number> {
  let status: number = EXIT.completed;
  const program = createProgram((settled) => (status = settled));
  try {
    // Nothing to say, and nobody to ask.
    if (args.length === 0 && !isConversation()) program.help({ error: true });
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    // Help and version are no mistakes; everything else that the parser stops at is.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    if (isUsageError(error)) return complain(error.message, EXIT.usage);
    const code = error instanceof Error ? fileCodeIn(error.message) : undefined;
    if (code !== undefined) return complain(`${(error as Error).message}. ${FILES_FIX}`, EXIT.usage);
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return complain(`This is a fault of Toolscript itself; please report it.\n${detail}`, EXIT.failed);
  }
}

function isConversation(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

function complain(message: string, status: number): number {
  process.stderr.write(`toolscript: ${visible(message)}\n`);
  return status;
}

function createProgram(settle: Settle): Command {
  const program = new Command('toolscript')
    .description(
      'Talks to a language model that works by writing scripts, run in a sandbox against tools on your folder.',
    )
    .version(version(), '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Print this help')
    .helpCommand('help [command]', 'Print the help of a command')
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
    .configureOutput({ outputError: (text, write) => write(visible(text.replace(/^error: /u, 'toolscript: '))) });
  addChat(program, settle);
  addRun(program, settle);
  addEval(program, settle);
  addResume(program, settle);
  addRecover(program, settle);
  addApprovals(program, settle);
  addReplay(program, settle);
  addThreads(program, settle);
  addTools(program, settle);
  addDoctor(program, settle);
  addTrust(program, settle);
  addRules(program, settle);
  return program;
}

function addChat(program: Command, settle: Settle): void {
  const command = program
    .command('chat', { isDefault: true })
    .argument('[prompt...]', 'what to do, or - for stdin; without one, a conversation begins')
    .description('Talk to a model; the word chat may be left out')
    .option('--agent <name>', 'whom to talk to (default: the first whose key there is)')
    .option('--model <name>', "in place of the agent's model, or scripted:FILE")
    .option('--continue', 'go on with the last conversation about this workspace')
    .addOption(new Option('--thread <id>', 'go on with this conversation').conflicts('continue'))
    .option('--json', 'print one event a line, as JSON')
    .addHelpText(
      'after',
      example(
        'toolscript "fix the failing tests"',
        'toolscript --continue "and now the README"',
        'toolscript chat --agent ollama --model qwen3-coder',
      ),
    )
    .action(async (words: string[], flags: ChatFlags) => {
      if (!process.argv.includes('chat')) refuseMistyped(program, words);
      const status = await withEngines(async (engines) => {
        const { chat } = await import('./commands/chat.js');
        return chat(words, flags, engines);
      });
      settle(status);
    });
  addScriptOptions(command);
}

/** What stands alone in the place of a command's name, and is almost one, is hardly ever a prompt. */
function refuseMistyped(program: Command, words: readonly string[]): void {
  const [word] = words;
  if (word === undefined || words.length > 1 || !/^[\w-]+$/u.test(word)) return;
  const nearest = nearestName(
    word,
    program.commands.map((command) => command.name()),
  );
  if (nearest === undefined) return;
  throw new UsageError(`There is no command ${word}. Did you mean ${nearest}? As a prompt: toolscript chat ${word}`);
}

function addThreads(program: Command, settle: Settle): void {
  const threads = program
    .command('threads')
    .description('Show the conversations that can be continued; rename, export or delete them')
    .option('--all', 'of every workspace')
    .option('--cwd <folder>', 'the workspace (default: this folder)')
    .option('--search <text>', 'those with this text in their title or in what you wrote')
    .option('--json', 'print them as JSON')
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
    .argument('<id>', 'the conversation, or the beginning of its id')
    .argument('<title>', 'what it is called from now on')
    .description('Give a conversation another title')
    .action(async (id: string, title: string) => settle(await (await threadCommands()).renameThread(id, title)));
  threads
    .command('export')
    .argument('<id>', 'the conversation, or the beginning of its id')
    .description('Write a conversation to stdout, or to a file')
    .addOption(
      new Option('--format <format>', 'a document to read, or one event a line (default: markdown)').choices([
        'markdown',
        'jsonl',
      ]),
    )
    .option('-o, --output <file>', 'the file; one that is there is replaced')
    .action(async (id: string, flags: ExportFlags) => settle(await (await threadCommands()).exportThread(id, flags)));
  threads
    .command('delete')
    .argument('<ids...>', 'the conversations, or the beginnings of their ids')
    .description('Delete conversations with all that was said in them')
    .action(async (ids: string[]) => settle(await (await threadCommands()).deleteThreads(ids)));
}

function threadCommands() {
  return import('./commands/threads.js');
}

function addRun(program: Command, settle: Settle): void {
  const command = program
    .command('run')
    .argument('[file]', "a file with a model's answer, or - for stdin (which is also read when it is a pipe)")
    .description("Run the scripts in a model's answer")
    .option('--continue-on-error', 'run later scripts after one has failed')
    .option('--json', 'print one event a line, as JSON')
    .addHelpText(
      'after',
      example(
        'toolscript run answer.md --cwd my-project',
        'my-model "tidy up" | toolscript run - --approve auto --json',
      ),
    )
    .action(async (file: string | undefined, flags: ScriptFlags) => {
      const status = await withEngines(async (engines) => {
        const { runAnswer } = await import('./commands/run.js');
        return runAnswer(file, flags, engines);
      });
      settle(status);
    });
  addScriptOptions(command);
}

function addEval(program: Command, settle: Settle): void {
  const command = program
    .command('eval')
    .argument('[file]', 'a script file, or - for stdin')
    .description('Run one script')
    .option('-e, --code <code>', 'the script itself')
    .option('--continue-on-error', 'accepted for symmetry with run; one script has no later ones')
    .option('--json', 'print the outcome, as JSON')
    .addHelpText(
      'after',
      example(
        'toolscript eval -e "return 1 + 1"',
        `toolscript eval -e "return (await tools.listDir({ path: '.' })).entries" --json`,
      ),
    )
    .action(async (file: string | undefined, flags: EvalFlags) => {
      const status = await withEngines(async (engines) => {
        const { evalScript } = await import('./commands/eval.js');
        return evalScript(file, flags, engines);
      });
      settle(status);
    });
  addScriptOptions(command);
}

function addRecover(program: Command, settle: Settle): void {
  const command = program
    .command('recover')
    .argument('<id>', 'the script, or the beginning of its id')
    .description('Go on with a script that was cut off; what had completed is not repeated')
    .option('--force', 'even from a process that may still go on with it: a call that it is making may take effect')
    .addOption(thenOption())
    .option('--json', 'print what run or eval would: one event a line, or the outcome')
    .addHelpText('after', example('toolscript recover scr_abc_0', 'toolscript recover scr_abc_0 --force'))
    .action(resumeAction(settle));
  addResumeSettings(command);
}

function addResume(program: Command, settle: Settle): void {
  const command = program
    .command('resume')
    .argument('<id>', 'the script, or the beginning of its id')
    .description('Decide what a suspended script waits for, and go on with it')
    .option('--approve [approval...]', 'approve these, or all that is pending')
    .option('--deny [approval...]', 'refuse these, or all that is pending')
    .option('--note <text>', 'a remark; the script reads it where you refuse')
    .option('--input <json>', 'arguments to run instead, of the one call that is approved')
    .addOption(
      new Option(
        '--remember <for>',
        'what else the decision holds for: every further call of the tool in this script, every call of its plan, or what a rule for the workspace can say',
      ).choices(['script', 'plan', 'workspace']),
    )
    .addOption(thenOption())
    .option('--agent <name>', 'of a script of a conversation: go on with another agent')
    .option('--model <name>', 'of a script of a conversation: go on with another model')
    .option('--json', 'print what run or eval would: one event a line, or the outcome')
    .addHelpText(
      'after',
      example(
        'toolscript resume scr_abc_0',
        'toolscript resume scr_abc_0 --approve',
        'toolscript resume scr_abc_0 --deny --note "not on a Friday"',
      ),
    )
    .action(resumeAction(settle));
  addResumeSettings(command);
}

function thenOption(): Option {
  const option = new Option('--then <who>', 'who decides about calls after that (default: ask, at a terminal)');
  return option.choices(['auto', 'deny', 'ask']);
}

function resumeAction(settle: Settle) {
  return async (id: string, flags: ResumeFlags): Promise<void> => {
    const status = await withEngines(async (engines) => {
      const { resumeScript } = await import('./commands/resume.js');
      return resumeScript(id, flags, engines);
    });
    settle(status);
  };
}

function addResumeSettings(command: Command): void {
  addSandboxOptions(command);
  addExposureOptions(command, 'the workspace: only the one that the script was started in');
}

function addApprovals(program: Command, settle: Settle): void {
  const approvals = program
    .command('approvals')
    .description('Show the scripts that wait for a decision, or were cut off')
    .option('--all', 'also those that run now or have ended')
    .option('--json', 'print them as JSON')
    .addHelpText('after', example('toolscript approvals', 'toolscript approvals show scr_abc_0'))
    .action(async (flags: ListFlags) => {
      const { listApprovals } = await import('./commands/approvals.js');
      settle(await listApprovals(flags));
    });
  approvals
    .command('show')
    .argument('<id>', 'the script, or the beginning of its id')
    .description('Show a script, what it has done, and all of what waits')
    .option('--json', 'print it as JSON')
    .action(async (id: string, _flags: object, command: Command) => {
      const { showApprovals } = await import('./commands/approvals.js');
      settle(await showApprovals(id, command.optsWithGlobals()));
    });
  approvals
    .command('delete')
    .argument('<id>', 'the script, or the beginning of its id')
    .description('Forget a script; nothing more of it runs')
    .option('--json', 'print what was forgotten as JSON')
    .action(async (id: string, _flags: object, command: Command) => {
      const { deleteApproval } = await import('./commands/approvals.js');
      settle(await deleteApproval(id, command.optsWithGlobals()));
    });
  approvals
    .command('prune')
    .description('Forget scripts that are old')
    .option('--ended-days <days>', 'those that ended longer ago (default: 7)')
    .option('--waiting-days <days>', 'those that nobody decided about for longer (default: 90)')
    .option('--json', 'print what was forgotten as JSON')
    .action(async (_flags: object, command: Command) => {
      const { pruneApprovals } = await import('./commands/approvals.js');
      settle(await pruneApprovals(command.optsWithGlobals()));
    });
}

function addReplay(program: Command, settle: Settle): void {
  program
    .command('replay')
    .argument('<id>', 'the script, or the beginning of its id')
    .description('Run a kept script again as it went, without calling any tool')
    .option('--json', 'print the outcome, as JSON')
    .addHelpText('after', example('toolscript replay scr_abc_0'))
    .action(async (id: string, flags: { json?: boolean }) => {
      const status = await withEngines(async (engines) => {
        const { replayScript } = await import('./commands/replay.js');
        return replayScript(id, flags, engines);
      });
      settle(status);
    });
}

/** Their threads start first: they take longest, and the command is loaded meanwhile. */
async function withEngines(act: (engines: Engines) => Promise<number>): Promise<number> {
  const { startEngines } = await import('./harness/engines.js');
  const engines = startEngines();
  try {
    return await act(engines);
  } finally {
    await engines.close();
  }
}

function addTools(program: Command, settle: Settle): void {
  const command = program
    .command('tools')
    .description('Show what scripts can call')
    .addOption(new Option('--types', 'print the TypeScript declarations').conflicts('json'))
    .option('--json', 'print names, descriptions and JSON Schemas')
    .addHelpText('after', example('toolscript tools', 'toolscript tools --types --pack file-ops'))
    .action(async (flags: ToolsFlags) => {
      const { listTools } = await import('./commands/tools.js');
      settle(await listTools(flags));
    });
  addExposureOptions(command);
}

function addDoctor(program: Command, settle: Settle): void {
  program
    .command('doctor')
    .description('Show what this machine has and lacks, with the fix for each')
    .option('--cwd <folder>', 'the workspace')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', example('toolscript doctor', 'toolscript doctor --json'))
    .action(async (flags: { json?: boolean; cwd?: string }) => {
      const { examine } = await import('./commands/doctor.js');
      settle(await examine(flags));
    });
}

function addTrust(program: Command, settle: Settle): void {
  program
    .command('trust')
    .argument('[folder]', 'the workspace; this folder where left out')
    .description("Let a workspace's toolscript.config.json count")
    .option('--remove', 'no longer trust it')
    .addHelpText('after', example('toolscript trust my-project', 'toolscript trust my-project --remove'))
    .action(async (folder: string | undefined, flags: { remove?: boolean }) => {
      const { trustFolder } = await import('./commands/trust.js');
      settle(await trustFolder(folder, flags));
    });
}

function addRules(program: Command, settle: Settle): void {
  program
    .command('rules')
    .description('Show what you said to always allow in a workspace, and take it back')
    .option('--cwd <folder>', 'the workspace (default: this folder)')
    .addOption(new Option('--remove <number>', 'take one rule back').conflicts('clear'))
    .option('--clear', 'take all of them back')
    .option('--json', 'print the rules as JSON')
    .addHelpText('after', example('toolscript rules', 'toolscript rules --remove 2', 'toolscript rules --clear'))
    .action(async (flags: RulesFlags) => {
      const { manageRules } = await import('./commands/rules.js');
      settle(await manageRules(flags));
    });
}

function addScriptOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--approve <who>',
        'who decides about calls that need an approval (default: ask at a terminal, otherwise suspend)',
      ).choices(['auto', 'deny', 'ask']),
    )
    .addOption(
      new Option('--mode <mode>', 'dry-run checks and calls nothing (default: enabled)').choices([
        'enabled',
        'dry-run',
        'disabled',
      ]),
    );
  addSandboxOptions(command);
  command.option('--limit <name=value>', 'set a limit, such as timeoutMs=60000; may be repeated', collect);
  addExposureOptions(command);
}

function addSandboxOptions(command: Command): void {
  command
    .addOption(new Option('--runtime <runtime>', 'the sandbox (default: quickjs)').choices(['quickjs', 'isolated-vm']))
    .addOption(
      new Option(
        '--exec-sandbox <on|off>',
        'off runs the programs of exec without the OS sandbox, with your rights (default: on)',
      ).choices(['on', 'off']),
    );
}

function addExposureOptions(command: Command, workspace = WORKSPACE): void {
  command
    .option('--cwd <folder>', workspace)
    .option('--pack <name>', 'expose the tools of a pack')
    .option('--tools <names>', 'expose these tools, separated by commas', splitNames);
}

function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function splitNames(value: string, before: string[] | undefined): string[] {
  const names = value.split(',').map((name) => name.trim());
  return [...(before ?? []), ...names.filter((name) => name !== '')];
}

function example(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
