import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { EvalFlags } from './commands/eval.js';
import type { ScriptFlags } from './commands/script-command.js';
import type { ToolsFlags } from './commands/tools.js';
import { EXIT } from './exit-status.js';
import type { Engines } from './harness/engines.js';
import { visible } from './terminal/untrusted.js';
import { isUsageError } from './usage-error.js';

type Settle = (status: number) => void;

/** Runs one command line. Answers with the exit status; never rejects. */
export async function runProgram(args: readonly string[]): Promise<number> {
  let status: number = EXIT.completed;
  const program = createProgram((settled) => (status = settled));
  try {
    if (args.length === 0) program.help({ error: true });
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    // Help and version are no mistakes; everything else that the parser stops at is.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    if (isUsageError(error)) return complain(error.message, EXIT.usage);
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return complain(`This is a fault of Toolscript itself; please report it.\n${detail}`, EXIT.failed);
  }
}

function complain(message: string, status: number): number {
  process.stderr.write(`toolscript: ${visible(message)}\n`);
  return status;
}

function createProgram(settle: Settle): Command {
  const program = new Command('toolscript')
    .description("Runs the scripts in a language model's answer, in a sandbox, against tools on your folder.")
    .version(version(), '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Print this help')
    .helpCommand('help [command]', 'Print the help of a command')
    .addHelpText(
      'after',
      example('toolscript run answer.md --cwd my-project', 'toolscript eval -e "return 1 + 1"', 'toolscript doctor'),
    )
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(visible(text.replace(/^error: /u, 'toolscript: '))) });
  addRun(program, settle);
  addEval(program, settle);
  addTools(program, settle);
  addDoctor(program, settle);
  addTrust(program, settle);
  return program;
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
        `toolscript eval -e "return (await tools.listDir({ dirPath: '.' })).entries" --json`,
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

function addScriptOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--approve <who>',
        'who decides about calls that need an approval (default: ask, at a terminal)',
      ).choices(['auto', 'deny', 'ask']),
    )
    .addOption(
      new Option('--mode <mode>', 'dry-run checks and calls nothing (default: enabled)').choices([
        'enabled',
        'dry-run',
        'disabled',
      ]),
    )
    .addOption(new Option('--runtime <runtime>', 'the sandbox (default: quickjs)').choices(['quickjs', 'isolated-vm']))
    .addOption(
      new Option(
        '--exec-sandbox <on|off>',
        'off runs the programs of exec without the OS sandbox, with your rights (default: on)',
      ).choices(['on', 'off']),
    )
    .option('--limit <name=value>', 'set a limit, such as timeoutMs=60000; may be repeated', collect);
  addExposureOptions(command);
}

function addExposureOptions(command: Command): void {
  command
    .option('--cwd <folder>', 'the workspace: the folder that tools may touch (default: this folder)')
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
