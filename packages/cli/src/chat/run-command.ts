import { programScope, scopeText } from '@toolscript/core/history';
import type { Thread as StoredThread } from '@toolscript/core/protocol';
import { allRuns, LOCAL_PRINCIPAL } from '@toolscript/service';
import { PERMISSION_MODES } from '../approvals/permission-mode.js';
import { EXIT } from '../exit-status.js';
import { isRecord } from '@toolscript/core/internal';
import { ownCommand } from '../terminal/own-command.js';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine, visibleTitle } from '../terminal/untrusted.js';
import { throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';
import { figuresLine } from '../view/run-report.js';
import { ago } from '../view/values.js';
import { commandList, type ChatCommand } from './commands-in-chat.js';
import type { ChatFlags, OpenChat } from './open-chat.js';

/** The conversation in which a command runs. */
export interface CommandPlace {
  readonly chat: OpenChat;
  readonly screen: Screen;
  startNew(): void;
  change(changes: ChatFlags): Promise<void>;
}

/** The number of conversations that `/resume` lists. */
const MAX_LISTED = 10;

/** Runs a command that starts no turn. Throws a UsageError for wrong words after the command. */
export async function runCommand(command: ChatCommand, rest: string, place: CommandPlace): Promise<number> {
  const { chat, screen } = place;
  switch (command) {
    case 'help':
      screen.line(commandList(chat.prompts));
      break;
    case 'new':
      place.startNew();
      screen.line(screen.style.dim('A new conversation.'));
      break;
    case 'resume':
      await place.change({ thread: (await findConversation(chat, rest)).threadId });
      break;
    case 'fork':
      await place.change({ thread: await forkThread(chat) });
      break;
    case 'model':
      await changeModel(place, rest);
      break;
    case 'mode':
      changeMode(place, rest);
      break;
    case 'undo':
    case 'diff':
      await undoNewest(chat, command === 'diff');
      break;
    case 'export':
      await exportTo(chat, rest);
      break;
    case 'bg':
      await beginInBackground(place, rest);
      break;
    default:
      for (const line of shownFacts(command, place)) screen.line(line);
  }
  return EXIT.completed;
}

function shownFacts(command: ChatCommand, { chat, screen }: CommandPlace): string[] {
  const { session, workbench, settings, chosen, thread } = chat;
  switch (command) {
    case 'cost':
      return [figuresLine(session.total, screen.style)];
    case 'tools':
      return workbench.harness.tools().map(({ name, effect }) => `  ${visibleLine(name)} ${screen.style.dim(effect)}`);
    case 'vars': {
      const { scope } = programScope(thread.history);
      if (scope.length > 0) return scope.map((entry) => `  ${visibleLine(scopeText(entry))}`);
      if (chosen.agent.scripts === 'one-program') return ['No script of this conversation has left a variable yet.'];
      return ['Scripts of this agent share no variables. To share them, set "scripts": "one-program" in its file.'];
    }
    case 'mcp': {
      const states = workbench.servers?.status() ?? [];
      if (states.length === 0) return [`There are no MCP servers. To add one: ${ownCommand()} mcp add`];
      return states.map(({ name, state, tools, problem }) =>
        `  ${visibleLine(name)}: ${state}, ${tools.length} tools ${problem === undefined ? '' : visibleLine(problem)}`.trimEnd(),
      );
    }
    case 'status':
      return [
        `  agent         ${visibleLine(chosen.agent.name ?? chosen.agent.slug)} (${visibleLine(chosen.model)})`,
        `  mode          ${workbench.approvals.mode.current}`,
        `  folder        ${visibleLine(settings.cwd)}`,
        `  instructions  ${chat.instructionFiles.map((path) => visibleLine(path)).join(', ') || 'none'}`,
        `  conversation  ${thread.isKept ? thread.id : 'not stored before the first prompt'}`,
      ];
    default:
      return [];
  }
}

/** Continues with another model, or shows the current one. The conversation stays. */
async function changeModel(place: CommandPlace, name: string): Promise<void> {
  const { chat, screen } = place;
  if (name === '') return screen.line(`  ${visibleLine(chat.chosen.model)}`);
  await place.change({ model: name, ...(chat.thread.isKept ? { thread: chat.thread.id } : {}) });
}

function changeMode({ chat, screen }: CommandPlace, name: string): void {
  const { mode } = chat.workbench.approvals;
  const chosen = PERMISSION_MODES.find((one) => one === name);
  if (name !== '' && chosen === undefined)
    throw new UsageError(`There is no mode ${visibleLine(name)}. The modes are ${PERMISSION_MODES.join(', ')}.`);
  if (chosen !== undefined) mode.current = chosen;
  screen.line(`  ${mode.current}`);
}

/** The newest conversations of the folder, for a user who selects one. */
export async function listConversations({ chat, screen }: CommandPlace): Promise<void> {
  const threads = (await conversations(chat)).slice(0, MAX_LISTED);
  for (const { threadId, title, updatedAt } of threads)
    screen.line(`  ${threadId}  ${ago(Date.now() - updatedAt)}  ${visibleTitle(title)}`);
  if (threads.length > 0) screen.line(screen.style.dim('/resume TEXT opens the newest one with this id or title.'));
}

function conversations({ database, settings, thread }: OpenChat): Promise<StoredThread[]> {
  return database.list({ workspace: settings.cwd }).then((all) => all.filter(({ threadId }) => threadId !== thread.id));
}

async function findConversation(chat: OpenChat, text: string): Promise<StoredThread> {
  const words = text.toLowerCase();
  const found = (await conversations(chat)).find(
    ({ threadId, title }) => threadId.startsWith(text) || title.toLowerCase().includes(words),
  );
  if (found !== undefined) return found;
  throw new UsageError(
    `No other conversation of this folder has ${visibleLine(text)} in its id or title. /resume lists them.`,
  );
}

/** Copies the conversation. Returns the id of the copy. */
async function forkThread({ database, thread, settings }: OpenChat): Promise<string> {
  const last = thread.isKept ? (await throughStore(allRuns(database.stores, thread.id))).at(-1) : undefined;
  if (last === undefined) throw new UsageError('This conversation has no prompt yet, so there is nothing to copy.');
  const branchOf = { threadId: thread.id, turnId: last.turnId, withTurn: true };
  const draft = { principal: LOCAL_PRINCIPAL, workspace: settings.cwd, branchOf };
  return (await throughStore(database.stores.threads.create(draft))).threadId;
}

/** Shows, and after a question undoes, the changes of the newest script of the conversation. */
async function undoNewest({ thread }: OpenChat, isDryRun: boolean): Promise<void> {
  const { undoScript } = await import('../commands/undo.js');
  await undoScript(undefined, { thread: thread.id, dryRun: isDryRun });
}

async function beginInBackground({ chat, screen }: CommandPlace, prompt: string): Promise<void> {
  if (prompt === '') throw new UsageError('Write the prompt: /bg PROMPT');
  const { settings, chosen, options } = chat;
  const { startInBackground } = await import('./background.js');
  const named = ['--cwd', settings.cwd, '--agent', chosen.agent.slug, '--model', chosen.model];
  // Without a terminal, `chat` names the decision about later calls as `--approve`.
  const repeated = options.map((word) => (word === '--then' ? '--approve' : word));
  await startInBackground(prompt, [...named, ...repeated], screen);
}

async function exportTo({ thread }: OpenChat, file: string): Promise<void> {
  if (file === '') throw new UsageError('Name the file: /export FILE');
  const { exportThread } = await import('../commands/threads.js');
  await exportThread(thread.id, { output: file });
}

/** The text of one of the user's own commands. The words after its name are the value of its only variable. */
export async function filledPrompt(
  { prompts }: OpenChat,
  { name, rest }: { name: string; rest: string },
): Promise<string> {
  const { loadPrompt } = await import('@toolscript/tools');
  const named = Object.keys(prompts.find((one) => one.name === name)?.variables?.['properties'] ?? {});
  const [variable = /\{\{[ \t]*([\p{L}_][\p{L}\p{N}_]*)[ \t]*\}\}/u.exec(promptText(prompts, name))?.[1]] = named;
  const variables = variable === undefined || rest === '' ? {} : { [variable]: rest };
  try {
    const { text } = await loadPrompt(
      { files: prompts },
      { name, scope: 'file', variables },
      { principal: LOCAL_PRINCIPAL },
    );
    return variable === undefined && rest !== '' ? `${text}\n\n${rest}` : text;
  } catch (error) {
    throw new UsageError(visible((error as Error).message));
  }
}

function promptText(prompts: OpenChat['prompts'], name: string): string {
  return prompts.find((one) => one.name === name)?.text ?? '';
}

/** Runs a command line in the sandbox of exec. The user allows it first, as for a script. The model does not read it. */
export async function runShell(
  { workbench }: OpenChat,
  screen: Screen,
  command: string,
  signal: AbortSignal,
): Promise<number> {
  const done = await workbench.harness.callTool('exec', { command: ['/bin/sh', '-c', command] }, { signal });
  if (done.error !== undefined) screen.warn(visibleLine(done.error.message));
  const { stdout, stderr, exitCode } = isRecord(done.result) ? done.result : {};
  for (const text of [stdout, stderr])
    if (typeof text === 'string' && text !== '') screen.line(visible(text.trimEnd()));
  if (typeof exitCode === 'number' && exitCode !== 0) screen.line(screen.style.dim(`status ${exitCode}`));
  return EXIT.completed;
}
