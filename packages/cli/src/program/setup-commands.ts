import { Argument, Option, type Command } from 'commander';
import type { ConnectFlags } from '../commands/connect.js';
import type { RulesFlags } from '../commands/rules.js';
import type { ToolsFlags } from '../commands/tools.js';
import type { TrustFolderFlags } from '../commands/trust.js';
import { PROVIDERS, type ProviderSlug } from '../configuration/provider-keys.js';
import { addExposureOptions } from './script-commands.js';
import { example, type Settle } from './toolscript-command.js';

export function addTools(program: Command, settle: Settle): void {
  const command = program
    .command('tools')
    .description('Show the tools that scripts can call')
    .addOption(new Option('--types', 'print the TypeScript declarations').conflicts('json'))
    .option('--json', 'print names, descriptions and JSON Schemas')
    .addHelpText('after', example('toolscript tools', 'toolscript tools --types --pack file-ops'))
    .action(async (flags: ToolsFlags) => {
      const { listTools } = await import('../commands/tools.js');
      settle(await listTools(flags));
    });
  addExposureOptions(command);
}

export function addConnect(program: Command, settle: Settle): void {
  program
    .command('connect')
    .addArgument(
      new Argument('[provider]', 'the provider of a model (default: list them)').choices(Object.keys(PROVIDERS)),
    )
    .description("Test and store a provider's API key, read from stdin or the terminal")
    .option('--remove', 'remove the stored key')
    .option('--no-test', 'store the key without a request to the provider')
    .addHelpText('after', example('toolscript connect anthropic', 'toolscript connect openai < openai.key'))
    .action(async (provider: ProviderSlug | undefined, flags: ConnectFlags) => {
      const { connect } = await import('../commands/connect.js');
      settle(await connect(provider, flags));
    });
}

export function addDoctor(program: Command, settle: Settle): void {
  program
    .command('doctor')
    .description('Check this machine, and show the fix for each missing part')
    .option('--cwd <folder>', 'the workspace')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', example('toolscript doctor', 'toolscript doctor --json'))
    .action(async (flags: { json?: boolean | undefined; cwd?: string | undefined }) => {
      const { examine } = await import('../commands/doctor.js');
      settle(await examine(flags));
    });
}

export function addTrust(program: Command, settle: Settle): void {
  program
    .command('trust')
    .argument('[folder]', 'the workspace (default: this folder)')
    .description("Trust a workspace's toolscript.config.json with its hooks, agents and MCP servers")
    .option('--yes', "trust the workspace's MCP servers and hooks without a question")
    .option('--remove', 'end the trust in the workspace')
    .addHelpText('after', example('toolscript trust my-project', 'toolscript trust my-project --remove'))
    .action(async (folder: string | undefined, flags: TrustFolderFlags) => {
      const { trustFolder } = await import('../commands/trust.js');
      settle(await trustFolder(folder, flags));
    });
}

export function addRules(program: Command, settle: Settle): void {
  program
    .command('rules')
    .description('Show and remove the rules for calls that are always allowed in a workspace')
    .option('--cwd <folder>', 'the workspace (default: this folder)')
    .addOption(new Option('--remove <number>', 'remove one rule').conflicts('clear'))
    .option('--clear', 'remove all rules')
    .option('--json', 'print the rules as JSON')
    .addHelpText('after', example('toolscript rules', 'toolscript rules --remove 2', 'toolscript rules --clear'))
    .action(async (flags: RulesFlags) => {
      const { manageRules } = await import('../commands/rules.js');
      settle(await manageRules(flags));
    });
}
