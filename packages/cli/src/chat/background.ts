import { spawn, type ChildProcess } from 'node:child_process';
import type { StreamEvent } from '@toolscript/core/protocol';
import { EXIT } from '../exit-status.js';
import { ownCommand } from '../terminal/own-command.js';
import type { Screen } from '../terminal/screen.js';
import type { EventView } from '../view/answer-view.js';

/** The ids of a run in the background. Its process sends them when the run has begun. */
interface RunIds {
  readonly runId: string;
  readonly threadId: string;
}

/**
 * Starts a process that answers the prompt with these options, and continues after this process has ended. Returns the
 * exit status: that of the other process if it ends before its run begins.
 */
export async function startInBackground(prompt: string, options: readonly string[], screen: Screen): Promise<number> {
  const begun = await begin(['-', ...options], prompt);
  if (typeof begun === 'number') return begun;
  screen.line(begun.runId);
  for (const line of backgroundLines(begun)) screen.warn(screen.warningStyle.dim(line));
  return EXIT.completed;
}

/**
 * Starts a process that waits until this one hands over the working run of the conversation, or dies, and then continues
 * the run. Returns false if the process could not begin.
 */
export async function awaitInBackground({ runId, threadId }: RunIds, options: readonly string[]): Promise<boolean> {
  return typeof (await begin([...options, '--thread', threadId, '--take-over', runId], '')) !== 'number';
}

export function backgroundLines({ runId, threadId }: RunIds): string[] {
  return [
    `  watch     ${ownCommand()} runs attach ${runId}`,
    `  stop      ${ownCommand()} runs stop ${runId}`,
    `  continue  ${ownCommand()} --thread ${threadId}`,
  ];
}

/** Starts a process with a run. Returns the ids of the run, or the status of a process that ends before it has one. */
async function begin(words: readonly string[], input: string): Promise<RunIds | number> {
  const args = [...process.execArgv, process.argv[1]!, 'chat', ...words, '--announce-run'];
  // With stdout to a pipe, the process would end with its reader.
  const child = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'ignore', 'pipe', 'ipc'] });
  let messages = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (messages += text));
  child.stdin!.on('error', () => {});
  child.stdin!.end(input);
  const begun = await runIds(child);
  if (typeof begun === 'number') process.stderr.write(messages);
  return begun;
}

/** Resolves to the ids, or to the exit status of a process that ends first. */
function runIds(child: ChildProcess): Promise<RunIds | number> {
  return new Promise((resolve) => {
    child.on('message', (ids) => resolve(ids as RunIds));
    child.on('error', () => resolve(EXIT.failed));
    child.on('close', (status) => resolve(status ?? EXIT.failed));
  });
}

/** Sends the ids of the run to the parent process, and releases the parent. */
export function announceRun(ids: RunIds): void {
  if (!process.connected) return;
  process.send?.(ids);
  process.disconnect();
}

/** Announces the run with its first event. Shows nothing else. */
export class AnnouncingView implements EventView {
  take({ run_id: runId, thread_id: threadId }: StreamEvent): void {
    announceRun({ runId, threadId });
  }

  end(): void {}
}
