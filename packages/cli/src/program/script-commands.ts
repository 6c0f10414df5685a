import { REASONING_EFFORTS } from '@toolscript/core/internal';
import { Option, type Command } from 'commander';
import type { ChatFlags } from '../commands/chat.js';
import type { EvalFlags } from '../commands/eval.js';
import type { ResumeFlags } from '../commands/resume.js';
import type { ScriptFlags } from '../commands/script-command.js';
import type { Engines } from '../harness/engines.js';
import {
  APPROVE_CHOICES,
  EXEC_SANDBOX_CHOICES,
  MODE_CHOICES,
  NOTIFY_CHOICES,
  RUNTIME_CHOICES,
} from '../configuration/choices.js';
import { OUTPUT_FORMATS, withOutputFormat } from './answer-formats.js';
import { collect, example, givenOptions, refuseMistypedCommand, type Settle } from './toolscript-command.js';

/** Starts the engines that run scripts, calls a command with them, and closes them. */
export type WithEngines = (act: (engines: Engines) => Promise<number>) => Promise<number>;

export const SCRIPT = "the script's id, or a prefix of it (toolscript approvals lists the ids)";

const WORKSPACE = 'the workspace: the folder that tools may access (default: this folder)';

export function addChat(program: Command, settle: Settle, withEngines: WithEngines): void {
  const command = program
    .command('chat', { isDefault: true })
    .argument(
      '[prompt...]',
      'the task; the text of a pipe is added to the task, or is the task (- also means stdin); without a task, a conversation starts',
    )
    .description('Talk to a model; the word chat may be omitted')
    .option('--image <file>', 'an image for the prompt; may be repeated', collect)
    .option('--file <file>', 'a PDF, or a WAV or MP3 recording, for the prompt; may be repeated', collect)
    .option('--continue', 'continue the last conversation about this workspace')
    .addOption(new Option('--thread <id>', 'continue this conversation').conflicts('continue'))
    .addOption(
      new Option(
        '--background',
        'answer the prompt in the background, and print the id of the run (toolscript runs lists the runs)',
      ).conflicts(['json', 'print', 'outputFormat']),
    )
    .addOption(
      new Option(
        '--notify <how>',
        'the signal when the run waits for you; in the background, only desktop (default: off)',
      ).choices(NOTIFY_CHOICES),
    )
    .addOption(new Option('--announce-run').hideHelp())
    .addOption(new Option('--permission <mode>').hideHelp())
    .addOption(new Option('--take-over <run>').hideHelp())
    .option('--json', 'print one event a line, as JSON');
  addAgentOptions(command);
  addAnswerOptions(command);
  command
    .addHelpText(
      'after',
      example(
        'toolscript "fix the failing tests"',
        'git diff | toolscript -p "review this change"',
        'toolscript --continue "and now the README"',
        'toolscript chat --agent ollama --model qwen3-coder',
      ),
    )
    .action(async (words: string[], { background, ...flags }: ChatFlags & { background?: boolean | undefined }) => {
      refuseMistypedCommand(command);
      if (background === true) {
        const { chatInBackground } = await import('../commands/chat.js');
        return settle(await chatInBackground(words, givenOptions(command, ['background'])));
      }
      const status = await withEngines(async (engines) => {
        const { chat } = await import('../commands/chat.js');
        return chat(words, withOutputFormat(flags), engines);
      });
      settle(status);
    });
  addScriptOptions(command);
}

export function addRun(program: Command, settle: Settle, withEngines: WithEngines): void {
  const command = program
    .command('run')
    .argument('[file]', "a file with a model's answer, or - for stdin (which is also read when it is a pipe)")
    .description("Run the scripts in a model's answer")
    .option('--continue-on-error', 'run later scripts after one has failed')
    .option('--one-program', 'let each script use the variables of the scripts before it')
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
        const { runAnswer } = await import('../commands/run.js');
        return runAnswer(file, flags, engines);
      });
      settle(status);
    });
  addScriptOptions(command);
}

export function addEval(program: Command, settle: Settle, withEngines: WithEngines): void {
  const command = program
    .command('eval')
    .argument('[file]', 'a script file, or - for stdin')
    .description('Run one script')
    .option('-e, --code <code>', 'the script itself')
    .option('--continue-on-error', 'has no effect on a single script; accepted because run has this option')
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
        const { evalScript } = await import('../commands/eval.js');
        return evalScript(file, flags, engines);
      });
      settle(status);
    });
  addScriptOptions(command);
}

export function addResume(program: Command, settle: Settle, withEngines: WithEngines): void {
  const command = program
    .command('resume')
    .argument('<id>', SCRIPT)
    .description('Decide the pending approvals of a suspended script, and resume it')
    .option('--approve [approval...]', 'approve these, or all pending ones')
    .option('--deny [approval...]', 'deny these, or all pending ones')
    .option('--note <text>', 'a note; the script reads it if you deny')
    .option('--input <json>', 'replaces the arguments of the one approved call')
    .addOption(
      new Option(
        '--remember <for>',
        'the further calls that the decision covers: every call of the tool in this script, every call of its plan, or the calls of a rule for the workspace',
      ).choices(['script', 'plan', 'workspace']),
    )
    .addOption(thenOption())
    .option('--agent <name>', 'for a script of a conversation: continue with another agent')
    .option('--model <name>', 'for a script of a conversation: continue with another model')
    .addOption(effortOption())
    .option('--json', 'print the same as run or eval: one event a line, or the outcome');
  addAnswerOptions(command);
  command
    .addHelpText(
      'after',
      example(
        'toolscript resume scr_abc_0',
        'toolscript resume scr_abc_0 --approve',
        'toolscript resume scr_abc_0 --deny --note "not on a Friday"',
      ),
    )
    .action(resumeAction(settle, withEngines));
  addResumeSettings(command);
}

export function addRecover(program: Command, settle: Settle, withEngines: WithEngines): void {
  const command = program
    .command('recover')
    .argument('<id>', SCRIPT)
    .description('Recover an interrupted script; completed calls are not repeated')
    .option(
      '--force',
      'recover even if another process may still run the script; the current call of that process may still take effect',
    )
    .addOption(thenOption())
    .option('--json', 'print the same as run or eval: one event a line, or the outcome')
    .addHelpText('after', example('toolscript recover scr_abc_0', 'toolscript recover scr_abc_0 --force'))
    .action(resumeAction(settle, withEngines));
  addResumeSettings(command);
}

export function addWait(program: Command, settle: Settle, withEngines: WithEngines): void {
  addAwaited(program, settle, 'wait', 'Wait for the end of a script that another process runs', async (...asked) => {
    const { waitForScript } = await import('../commands/awaited.js');
    return withEngines((engines) => waitForScript(...asked, engines));
  });
}

export function addCancel(program: Command, settle: Settle, withEngines: WithEngines): void {
  addAwaited(
    program,
    settle,
    'cancel',
    'Cancel a script that another process runs, or that waits',
    async (...asked) => {
      const { cancelScript } = await import('../commands/awaited.js');
      return withEngines((engines) => cancelScript(...asked, engines));
    },
  );
}

function addAwaited(
  program: Command,
  settle: Settle,
  name: string,
  description: string,
  act: (id: string, flags: { json?: boolean | undefined }) => Promise<number>,
): void {
  program
    .command(name)
    .argument('<id>', SCRIPT)
    .description(description)
    .option('--json', 'print the outcome, as JSON')
    .addHelpText('after', example(`toolscript ${name} scr_abc_0`))
    .action(async (id: string, flags: { json?: boolean | undefined }) => settle(await act(id, flags)));
}

export function addReplay(program: Command, settle: Settle, withEngines: WithEngines): void {
  program
    .command('replay')
    .argument('<id>', SCRIPT)
    .description('Replay a stored script without calling any tool')
    .option('--json', 'print the outcome, as JSON')
    .addHelpText('after', example('toolscript replay scr_abc_0'))
    .action(async (id: string, flags: { json?: boolean | undefined }) => {
      const status = await withEngines(async (engines) => {
        const { replayScript } = await import('../commands/replay.js');
        return replayScript(id, flags, engines);
      });
      settle(status);
    });
}

/** Adds the options that choose the agent of a conversation. */
export function addAgentOptions(command: Command): void {
  command
    .option('--agent <name>', 'the agent (default: the first one whose API key is set)')
    .option('--model <name>', "the model, in place of the agent's own; scripted:FILE plays a scenario")
    .addOption(effortOption());
}

function addLimitOption(command: Command): void {
  command.option('--limit <name=value>', 'set a limit, such as timeoutMs=60000; may be repeated', collect);
}

export function addExposureOptions(command: Command, workspace = WORKSPACE): void {
  command
    .option('--cwd <folder>', workspace)
    .option('--pack <name>', 'expose the tools of a pack')
    .option('--tools <names>', 'expose these tools, separated by commas', splitNames)
    .option('--mcp-config <file>', 'the MCP servers of this file, in place of your own and those of the workspace');
}

export function addScriptOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--approve <who>',
        'the policy for calls that need an approval (default: ask at a terminal, otherwise suspend)',
      ).choices(APPROVE_CHOICES),
    )
    .addOption(
      new Option('--mode <mode>', 'the mode; dry-run checks scripts and calls no tool (default: enabled)').choices(
        MODE_CHOICES,
      ),
    );
  addSandboxOptions(command);
  addLimitOption(command);
  addExposureOptions(command);
}

function thenOption(): Option {
  const option = new Option('--then <who>', 'the policy for later calls (default: ask, at a terminal)');
  return option.choices(APPROVE_CHOICES);
}

function resumeAction(settle: Settle, withEngines: WithEngines) {
  return async (id: string, flags: ResumeFlags): Promise<void> => {
    const status = await withEngines(async (engines) => {
      const { resumeScript } = await import('../commands/resume.js');
      return resumeScript(id, withOutputFormat(flags), engines);
    });
    settle(status);
  };
}

function addResumeSettings(command: Command): void {
  addLimitOption(command);
  addSandboxOptions(command);
  addExposureOptions(command, 'the workspace: only the one in which the script was started');
}

/** Adds the options for the destination and the format of a model's final answer. */
function addAnswerOptions(command: Command): void {
  command
    .addOption(new Option('-p, --print', 'print only the final answer').conflicts('json'))
    .option(
      '--output-schema <file>',
      'require a final answer in JSON that is valid for this JSON Schema; print only the answer',
    )
    .option('-o, --output <file>', 'write the final answer to this file; an existing file is replaced')
    .addOption(
      new Option(
        '--output-format <format>',
        'text, json: one object with the result, or stream-json: the same as --json (default: text)',
      )
        .choices(OUTPUT_FORMATS)
        .conflicts(['json', 'print']),
    );
}

function addSandboxOptions(command: Command): void {
  command
    .addOption(new Option('--runtime <runtime>', 'the sandbox (default: quickjs)').choices(RUNTIME_CHOICES))
    .addOption(
      new Option(
        '--exec-sandbox <on|off>',
        'off runs the programs of exec without the OS sandbox, with your permissions (default: on)',
      ).choices(EXEC_SANDBOX_CHOICES),
    );
}

function effortOption(): Option {
  return new Option('--effort <level>', "how much the model reasons, in place of the agent's own setting").choices(
    REASONING_EFFORTS,
  );
}

function splitNames(value: string, before: string[] | undefined): string[] {
  const names = value.split(',').map((name) => name.trim());
  return [...(before ?? []), ...names.filter((name) => name !== '')];
}
