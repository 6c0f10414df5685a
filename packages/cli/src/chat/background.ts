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
  const args = [...process.execArgv, process.argv[1]!, 'chat', '-', ...options, '--announce-run'];
  // With stdout to a pipe, the process would end with its reader.
  const child = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'ignore', 'pipe', 'ipc'] });
  let messages = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (messages += text));
  child.stdin!.on('error', () => {});
  child.stdin!.end(prompt);
  const begun = await runIds(child);
  if (typeof begun === 'number') {
    process.stderr.write(messages);
    return begun;
  }
  const { runId } = begun;
  screen.line(runId);
  const { dim } = screen.warningStyle;
  for (const line of [
    `  watch     ${ownCommand()} runs attach ${runId}`,
    `  stop      ${ownCommand()} runs stop ${runId}`,
    `  continue  ${ownCommand()} --thread ${begun.threadId}`,
  ])
    screen.warn(dim(line));
  return EXIT.completed;
}

/** Resolves to the ids, or to the exit status of a process that ends first. */
function runIds(child: ChildProcess): Promise<RunIds | number> {
  return new Promise((resolve) => {
    child.on('message', (ids) => resolve(ids as RunIds));
    child.on('error', () => resolve(EXIT.failed));
    child.on('close', (status) => resolve(status ?? EXIT.failed));
  });
}

/** Sends the ids of the run to the parent process with its first event, and releases the parent. Shows nothing else. */
export class AnnouncingView implements EventView {
  take({ run_id: runId, thread_id: threadId }: StreamEvent): void {
    if (!process.connected) return;
    process.send?.({ runId, threadId } satisfies RunIds);
    process.disconnect();
  }

  end(): void {}
}
