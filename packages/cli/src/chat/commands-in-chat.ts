import { nearestName } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';

const COMMANDS = {
  help: 'this list',
  new: 'start another conversation',
  resume: 'decide the pending approvals, or list the conversations of this folder; /resume TEXT opens one',
  fork: 'continue in a copy of this conversation',
  model: 'show the model; /model NAME continues with another one',
  mode: 'show the mode; /mode plan|ask|auto-edit|auto changes it, as Shift-Tab does',
  bg: 'work on a prompt in the background, in a new conversation: /bg PROMPT',
  compact: 'let the model summarise the conversation, and continue with the summary',
  cost: 'the tokens and the cost of this conversation since you opened it',
  tools: 'the tools that scripts can call',
  vars: 'the variables that the next script can use, with their types',
  mcp: 'the MCP servers and their states',
  diff: 'what the newest script has changed in files',
  undo: 'undo what the newest script has changed in files',
  status: 'the folder, the agent, the mode and the instructions',
  export: 'write the conversation to a file: /export FILE',
  exit: 'exit; so does Ctrl-D',
} as const;

export type ChatCommand = keyof typeof COMMANDS;

const OTHER_NAMES: Readonly<Record<string, ChatCommand>> = { '?': 'help', quit: 'exit', q: 'exit', clear: 'new' };

/** The meaning of a line. `template`: one of the user's own commands. */
export type TypedLine =
  | { readonly type: 'prompt'; readonly text: string }
  | { readonly type: 'command'; readonly command: ChatCommand; readonly rest: string }
  | { readonly type: 'template'; readonly name: string; readonly rest: string }
  | { readonly type: 'shell'; readonly command: string }
  | { readonly type: 'mistake'; readonly message: string };

/** A line whose first word begins with a slash is a command, and never reaches the model. A path has two slashes. */
export function readLine(line: string, templates: readonly string[]): TypedLine {
  const text = line.trim();
  if (line.startsWith('!') && text.length > 1) return { type: 'shell', command: text.slice(1).trim() };
  const [word = '', ...words] = line.startsWith('/') ? text.split(/\s+/u) : [];
  const name = word.slice(1);
  if (name === '' || name.includes('/')) return { type: 'prompt', text: line };
  const rest = words.join(' ');
  const other = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  const command = Object.hasOwn(COMMANDS, name) ? (name as ChatCommand) : other;
  if (command !== undefined) return { type: 'command', command, rest };
  if (templates.includes(name)) return { type: 'template', name, rest };
  const nearest = nearestName(name, [...Object.keys(COMMANDS), ...templates]);
  const hint = nearest === undefined ? '/help lists the commands.' : `Did you mean /${nearest}?`;
  const message = `There is no command /${visibleLine(name)}. ${hint} To send the line to the model, begin it with a space.`;
  return { type: 'mistake', message };
}

/** The commands, then the user's own ones, one a line. */
export function commandList(
  templates: readonly { readonly name: string; readonly description?: string | undefined }[],
) {
  const own = templates.map(({ name, description = 'your own prompt' }) => [name, description] as const);
  return [...Object.entries(COMMANDS), ...own]
    .map(([name, text]) => `  /${visibleLine(name).padEnd(8)} ${visibleLine(text)}`)
    .concat('  !COMMAND  run a command, after you have allowed it')
    .join('\n');
}

export function commandNames(): string[] {
  return Object.keys(COMMANDS);
}
