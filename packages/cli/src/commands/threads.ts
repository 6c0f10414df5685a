import { lstatSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { writePrivateFile } from '@toolscript/core/internal';
import type { ApprovalPage } from '@toolscript/core/ports';
import { threadMarkdown } from '@toolscript/core/stream';
import type { Approval, Thread as StoredThread } from '@toolscript/core/protocol';
import { allEvents, allPageItems, allRuns, allTurns, refuseHeldThread } from '@toolscript/service';
import { workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { ownCommand } from '../terminal/own-command.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { jsonText, visible, visibleLine, visibleTitle } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';
import { ThreadDatabase, throughStore } from '../threads/thread-database.js';
import { systemCode, UsageError } from '../usage-error.js';
import { ago } from '../view/values.js';

export interface ThreadsFlags {
  all?: boolean | undefined;
  cwd?: string | undefined;
  search?: string | undefined;
  json?: boolean | undefined;
}

export interface ExportFlags {
  format?: 'markdown' | 'jsonl' | undefined;
  output?: string | undefined;
}

/** Lists the stored conversations. */
export async function listThreads({ all = false, cwd, search, json = false }: ThreadsFlags): Promise<number> {
  const workspace = all ? undefined : await workspaceFolder(cwd);
  return onThreads(async (database, screen) => {
    const threads = await database.list({
      ...(workspace === undefined ? {} : { workspace }),
      ...(search === undefined ? {} : { text: search }),
    });
    if (json) screen.write(`${jsonText(threads.map(listedThread), 2)}\n`);
    else for (const line of listLines(threads, { all, search }, screen)) screen.line(line);
  });
}

export async function renameThread(id: string, title: string): Promise<number> {
  return onThreads(async (database, screen) => {
    const found = await database.find(id);
    await database.rename(found, title);
    screen.line(`${found.threadId} is now called ${visibleTitle(title)}`);
  });
}

/** Deletes all named conversations, or none if one is not found or another process works on it. */
export async function deleteThreads(ids: readonly string[]): Promise<number> {
  return onThreads(async (database, screen) => {
    const found = new Map<string, StoredThread>();
    for (const id of ids) {
      const thread = await database.find(id);
      await throughStore(refuseHeldThread(database.stores, thread.threadId));
      found.set(thread.threadId, thread);
    }
    for (const thread of found.values()) {
      await database.delete(thread);
      screen.line(`${thread.threadId} is deleted.`);
    }
  });
}

/** Writes a conversation to a file or to stdout. */
export async function exportThread(id: string, { format = 'markdown', output }: ExportFlags): Promise<number> {
  return onThreads(async (database, screen) => {
    const thread = await database.find(id);
    const pending = await throughStore(pendingApprovals(database, thread));
    const text = await throughStore(
      format === 'jsonl' ? eventLines(database, thread) : exportedMarkdown(database, thread, pending),
    );
    if (output === undefined) screen.write(visible(text));
    else {
      const path = resolve(output);
      await writeExport(path, text);
      screen.line(`${thread.threadId} is in ${visibleLine(path)}`);
    }
    for (const scriptId of new Set(pending.map(({ request }) => request.scriptId)))
      if (scriptId !== undefined)
        screen.notice(`The script ${scriptId} waits for a decision. To decide: ${ownCommand()} resume ${scriptId}`);
  });
}

/**
 * Writes the text to a file that only the user can read and write. Throws a UsageError if the file cannot be written,
 * or if a folder, a link or a device has its path.
 */
async function writeExport(path: string, text: string): Promise<void> {
  const name = visibleLine(path);
  try {
    // A missing folder is a mistake in the path.
    statSync(dirname(path));
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) throw new UsageError(`${name} is a folder. Name a file in it.`);
    // The export replaces the entry at the path, which must not be a link or a device.
    if (found !== undefined && !found.isFile())
      throw new UsageError(`${name} is a link or a device. Name a file, or omit -o and redirect stdout.`);
    await writePrivateFile(path, text);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new UsageError(`${name} cannot be written (${code}). Name a file in a folder that you can write to.`);
  }
}

async function onThreads(act: (database: ThreadDatabase, screen: Screen) => Promise<void>): Promise<number> {
  const screen = openScreen();
  const database = await ThreadDatabase.open(process.env);
  try {
    await act(database, screen);
    return EXIT.completed;
  } finally {
    await database.close();
  }
}

function listedThread({ threadId, title, workspace, agentId, createdAt, updatedAt }: StoredThread) {
  const [created, changed] = [createdAt, updatedAt].map((time) => new Date(time).toISOString());
  return { threadId, title, workspace, agentId: agentId ?? null, createdAt: created, changedAt: changed };
}

function listLines(
  threads: readonly StoredThread[],
  { all, search }: { all: boolean; search: string | undefined },
  screen: Screen,
): string[] {
  if (threads.length > 0)
    return [
      ...threads.flatMap((thread) => threadLines(thread, all, screen)),
      screen.style.dim(`To continue one: ${ownCommand()} --thread ID`),
    ];
  const about = search === undefined ? '' : ` with the text ${visibleLine(search)}`;
  if (all) return [`There are no conversations${about}.`];
  return [`There are no conversations about this folder${about}; --all shows those about other folders.`];
}

function threadLines({ threadId, title, updatedAt, workspace }: StoredThread, all: boolean, screen: Screen): string[] {
  const fit = (line: string) => (screen.isTerminal ? cutToWidth(line, screen.columns) : line);
  return [
    fit(`${threadId}  ${ago(Date.now() - updatedAt)}  ${visibleTitle(title)}`),
    ...(all ? [screen.style.dim(fit(`    in ${visibleLine(workspace)}`))] : []),
  ];
}

async function exportedMarkdown(
  { stores }: ThreadDatabase,
  thread: StoredThread,
  pending: readonly Approval[],
): Promise<string> {
  const turns = await allTurns(stores, thread.threadId);
  return threadMarkdown(
    thread,
    turns.flatMap(({ items }) => items),
    pending.map(({ request }) => request),
  );
}

function pendingApprovals({ stores }: ThreadDatabase, { threadId }: StoredThread): Promise<Approval[]> {
  return allPageItems<ApprovalPage, Approval>(
    (after) => stores.threads.listApprovals({ threadId, state: 'pending', ...after }),
    (page) => page.approvals,
  );
}

async function eventLines({ stores }: ThreadDatabase, { threadId }: StoredThread): Promise<string> {
  const lines: string[] = [];
  for (const { runId } of await allRuns(stores, threadId))
    lines.push(...(await allEvents(stores, runId)).map((event) => `${jsonText(event)}\n`));
  return lines.join('');
}
