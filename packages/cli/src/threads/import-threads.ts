import { userMessage } from '@toolscript/core/agent';
import {
  EventEnvelopes,
  StoreIdSchema,
  type OutputItem,
  type RunDraft,
  type RunFence,
  type ServiceStores,
  type StreamEvent,
} from '@toolscript/core/protocol';
import { finishRun, LOCAL_PRINCIPAL, RunState } from '@toolscript/server/runs';
import { visible } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { ownClaim } from './run-owner.js';
import { readThreadFile, type ThreadText } from './thread-file.js';
import type { ThreadFile, ThreadFiles } from './thread-files.js';

export interface ImportOptions {
  readonly warn: (message: string) => void;
  /** Sets the time of the stores' clock, in ms since the Unix epoch. */
  readonly setTime: (time: number) => void;
}

/**
 * Imports the conversations that earlier versions of Toolscript stored in files. All ids are derived from the file, and
 * each step is idempotent, so that a later import completes an interrupted one, and concurrent imports do no harm. The
 * last step marks the file, so that a conversation is not imported again after it has been deleted.
 */
export async function importThreads(stores: ServiceStores, files: ThreadFiles, options: ImportOptions): Promise<void> {
  for (const file of files.unimported()) {
    try {
      await importThread(stores, file, options);
      files.mark(file, 'imported');
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'StoreUnavailableError') throw error;
      options.warn(error instanceof UsageError ? error.message : notImported(file, error));
      files.mark(file, 'damaged');
    }
  }
}

function notImported({ path }: ThreadFile, { message }: Error): string {
  return `The conversation in ${visible(path)} cannot be imported (${visible(message)}). The file is unchanged, so you can still read the conversation in the file.`;
}

async function importThread(stores: ServiceStores, file: ThreadFile, { setTime }: ImportOptions): Promise<void> {
  const text = readThreadFile(file.path);
  const { head, agent, events } = text;
  if (!StoreIdSchema.safeParse(head.thread_id).success)
    throw new UsageError(
      `${visible(file.path)} has no valid thread_id. Correct the id in the first line, or remove the file.`,
    );
  for (const [index, run] of runsOf(events).entries()) {
    setTime(run[0]!.timestamp);
    await importRun(stores, text, run, index);
  }
  setTime(file.changedMs);
  if (agent === undefined || (await stores.threads.get(head.thread_id)) === undefined) return;
  const { type: _type, agent: agentId, ...instructions } = agent;
  await stores.threads.saveInstructions(head.thread_id, { agentId, ...instructions });
}

/** Groups the events by run. The events of a run are adjacent. */
function runsOf(events: readonly StreamEvent[]): StreamEvent[][] {
  const runs: StreamEvent[][] = [];
  for (const event of events) {
    const last = runs.at(-1);
    if (last?.[0]?.run_id === event.run_id) last.push(event);
    else runs.push([event]);
  }
  return runs;
}

async function importRun(
  stores: ServiceStores,
  { head }: ThreadText,
  events: readonly StreamEvent[],
  index: number,
): Promise<void> {
  const draft = runDraft(head, events, index);
  const { run } = await stores.runs.create(draft);
  // An earlier import that was interrupted may have ended the run.
  if (run.state !== 'running') return;
  const fence: RunFence = { runId: run.runId, epoch: run.epoch };
  const envelopes = new EventEnvelopes(run);
  const renamed = events.map(({ payload, timestamp }) => ({ ...envelopes.next(payload), timestamp }));
  const state = new RunState(renamed);
  const { timestamp } = renamed.at(-1)!;
  for (const payload of state.missingEnd('incomplete')) {
    const event = { ...envelopes.next(payload), timestamp };
    renamed.push(event);
    state.take(event);
  }
  // The epoch is omitted, because another process may have imported the run meanwhile.
  await stores.threads.append(renamed);
  await finishRun(stores, fence, state);
}

function runDraft(head: ThreadText['head'], events: readonly StreamEvent[], index: number): RunDraft {
  const { thread_id: threadId, title, workspace, created_at } = head;
  const createdAt = Date.parse(created_at);
  const create = { threadId, title, workspace, ...(Number.isNaN(createdAt) ? {} : { createdAt }) };
  const runId = `run_${threadId}_${index}`.slice(0, 128);
  return {
    principal: LOCAL_PRINCIPAL,
    thread: index === 0 ? { create } : { threadId },
    input: inputOf(events, `item_${threadId}_${index}`),
    idempotencyKey: `import ${runId}`,
    claim: ownClaim(),
    runId,
    turnId: `turn_${threadId}_${index}`.slice(0, 128),
  };
}

function inputOf(events: readonly StreamEvent[], id: string): OutputItem[] {
  const first = events[0]?.payload;
  const input = first?.type === 'response_start' && Array.isArray(first.input) ? (first.input as OutputItem[]) : [];
  return input.length > 0 ? input : [{ ...userMessage('Resume'), id, role: 'system' } as OutputItem];
}
