import { dataFolder } from '../configuration/locations.js';
import { workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { Screen } from '../terminal/screen.js';
import { ownCommand } from '../terminal/own-command.js';
import { jsonText, visibleLine, visibleTitle } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';
import { ThreadFolder, type ListedThread } from '../threads/thread-folder.js';
import { ago } from '../view/durations.js';

export interface ThreadsFlags {
  all?: boolean;
  cwd?: string;
  delete?: string;
  json?: boolean;
}

/** Lists the conversations that are kept, or forgets one. */
export async function listThreads(flags: ThreadsFlags): Promise<number> {
  const screen = new Screen(process.stdout, process.stderr, process.env);
  const threadFolder = new ThreadFolder(dataFolder(process.env).threadsFolder);
  if (flags.delete !== undefined) return forget(threadFolder, flags.delete, screen);
  const workspace = await workspaceFolder(flags.cwd);
  const threads = threadFolder.list().filter((thread) => flags.all === true || thread.workspace === workspace);
  if (flags.json === true) {
    const listed = threads.map(
      ({ thread_id: threadId, workspace: folder, created_at: createdAt, title, changedMs }) => ({
        threadId,
        title,
        workspace: folder,
        createdAt,
        changedAt: new Date(changedMs).toISOString(),
      }),
    );
    screen.write(`${jsonText(listed, 2)}\n`);
    return EXIT.completed;
  }
  if (threads.length === 0)
    screen.line(
      flags.all === true
        ? 'There are no conversations.'
        : 'There are no conversations about this folder; --all shows those of others.',
    );
  for (const thread of threads) for (const line of threadLines(thread, flags.all === true, screen)) screen.line(line);
  if (threads.length > 0) screen.line(screen.style.dim(`To go on with one: ${ownCommand()} --thread ID`));
  return EXIT.completed;
}

function threadLines(
  { thread_id: id, title, changedMs, workspace }: ListedThread,
  all: boolean,
  screen: Screen,
): string[] {
  const fit = (line: string) => (screen.isTerminal ? cutToWidth(line, screen.columns) : line);
  return [
    fit(`${id}  ${ago(Date.now() - changedMs)}  ${visibleTitle(title)}`),
    ...(all ? [screen.style.dim(fit(`    in ${visibleLine(workspace)}`))] : []),
  ];
}

function forget(folder: ThreadFolder, text: string, screen: Screen): number {
  const found = folder.find(text);
  folder.delete(found);
  screen.line(`${found.thread_id} is forgotten.`);
  return EXIT.completed;
}
