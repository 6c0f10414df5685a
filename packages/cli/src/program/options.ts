import { Option, type Command } from 'commander';
import { collect } from './toolscript-command.js';

/** Reports the exit status of a command. */
export type Settle = (status: number) => void;

export const SCRIPT = "the script's id, or the start of it (toolscript approvals lists them)";

const WORKSPACE = 'the workspace: the folder that tools may access (default: this folder)';

export function addScriptOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--approve <who>',
        'the policy for calls that need an approval (default: ask at a terminal, otherwise suspend)',
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
  addLimitOption(command);
  addExposureOptions(command);
}

export function addLimitOption(command: Command): void {
  command.option('--limit <name=value>', 'set a limit, such as timeoutMs=60000; may be repeated', collect);
}

/** Where the final answer of a model goes, and its form. */
export function addAnswerOptions(command: Command): void {
  command
    .addOption(new Option('-p, --print', 'print only the final answer').conflicts('json'))
    .option(
      '--output-schema <file>',
      'demand JSON that is valid for this JSON Schema as the final answer; print only it',
    )
    .option('-o, --output <file>', 'write the final answer to this file; an existing one is replaced');
}

export function addSandboxOptions(command: Command): void {
  command
    .addOption(new Option('--runtime <runtime>', 'the sandbox (default: quickjs)').choices(['quickjs', 'isolated-vm']))
    .addOption(
      new Option(
        '--exec-sandbox <on|off>',
        'off runs the programs of exec without the OS sandbox, with your rights (default: on)',
      ).choices(['on', 'off']),
    );
}

export function addExposureOptions(command: Command, workspace = WORKSPACE): void {
  command
    .option('--cwd <folder>', workspace)
    .option('--pack <name>', 'expose the tools of a pack')
    .option('--tools <names>', 'expose these tools, separated by commas', splitNames)
    .option('--mcp-config <file>', "the MCP servers of this file, in place of your own and the workspace's");
}

function splitNames(value: string, before: string[] | undefined): string[] {
  const names = value.split(',').map((name) => name.trim());
  return [...(before ?? []), ...names.filter((name) => name !== '')];
}
