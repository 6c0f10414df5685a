import type { Command } from 'commander';
import type { AcpFlags } from '../commands/acp.js';
import { ownVersion } from '../own-version.js';
import { addAgentOptions, addScriptOptions, type WithEngines } from './script-commands.js';
import { example, type Settle } from './toolscript-command.js';

export function addAcp(program: Command, settle: Settle, withEngines: WithEngines): void {
  const command = program
    .command('acp')
    .description('Serve an editor that speaks the Agent Client Protocol over stdin and stdout')
    .addHelpText('after', example('toolscript acp', 'toolscript acp --agent openai'));
  addAgentOptions(command);
  addScriptOptions(command);
  command.action(async (flags: AcpFlags) => {
    const status = await withEngines(async (engines) => {
      const { serveEditor } = await import('../commands/acp.js');
      return serveEditor(flags, engines, ownVersion());
    });
    settle(status);
  });
}
