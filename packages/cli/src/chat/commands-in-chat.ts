import { nearestName } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';

export type ChatCommand = 'help' | 'new' | 'resume' | 'exit';

const COMMANDS: Readonly<Record<ChatCommand, string>> = {
  help: 'this list',
  new: 'start another conversation',
  resume: 'decide the pending approvals of this conversation, and resume it',
  exit: 'exit; so does Ctrl-D',
};

const OTHER_NAMES: Readonly<Record<string, ChatCommand>> = { '?': 'help', quit: 'exit', q: 'exit', clear: 'new' };

/**
 * The command that a line names, or a message about an unknown command. Returns undefined if the line is a prompt.
 */
export function commandIn(line: string): { readonly command: ChatCommand } | { readonly mistake: string } | undefined {
  // A line with a second slash or a second word, such as a path, is a prompt.
  const [, name] = /^\/([\w?-]+)\s*$/u.exec(line.trim()) ?? [];
  if (name === undefined) return undefined;
  const command = Object.hasOwn(COMMANDS, name) ? (name as ChatCommand) : OTHER_NAMES[name];
  if (command !== undefined) return { command };
  const nearest = nearestName(name, Object.keys(COMMANDS));
  const hint = nearest === undefined ? '/help lists the commands.' : `Did you mean /${nearest}?`;
  return { mistake: `There is no command /${visibleLine(name)}. ${hint}` };
}

export function commandList(): string {
  return Object.entries(COMMANDS)
    .map(([name, text]) => `  /${name.padEnd(8)} ${text}`)
    .join('\n');
}
