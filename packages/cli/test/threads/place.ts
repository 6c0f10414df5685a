import { ownIdentity, type Decisions } from '@toolscript/core';
import {
  EventEnvelopes,
  type EventPayload,
  type OutputItem,
  type Run,
  type StreamEvent,
} from '@toolscript/core/protocol';
import type { CurrentInstructions } from '@toolscript/server/runs';
import { onTestFinished } from 'vitest';
import { ThreadDatabase } from '#cli/threads/thread-database.js';
import { Thread, type RunNames } from '#cli/threads/thread.js';
import { temporaryFolder } from '../support/program.js';

export const AGENT: CurrentInstructions = { agentId: 'coder', model: 'm', system: 'Be brief.' };

/** A data folder with conversations of one workspace. */
export class ThreadPlace {
  readonly data = temporaryFolder();
  readonly warnings: string[] = [];

  async open(): Promise<ThreadDatabase> {
    const database = await ThreadDatabase.open({ XDG_DATA_HOME: this.data }, (message) => this.warnings.push(message));
    onTestFinished(() => database.close());
    return database;
  }

  begin(database: ThreadDatabase, agent: CurrentInstructions = AGENT): Thread {
    return Thread.begin(this.#settings(database, agent));
  }

  async reopen(database: ThreadDatabase, id: string, agent: CurrentInstructions = AGENT): Promise<Thread> {
    return Thread.reopen(await database.find(id), this.#settings(database, agent));
  }

  #settings(database: ThreadDatabase, agent: CurrentInstructions) {
    return {
      database,
      workspace: '/w',
      agent,
      announcesFiles: true,
      onLost: (message: string) => void this.warnings.push(message),
    };
  }
}

/** Plays a turn: the prompt, an answer, the end. */
export async function say(thread: Thread, prompt: string, answer: string): Promise<void> {
  const { input, ...names } = await thread.beginTurn(prompt);
  play(thread, names, [
    { type: 'response_start', input },
    ...message(answer),
    { type: 'response_done', status: 'completed' },
  ]);
  await thread.endRun();
}

/** Begins to resume a script, in the run that waits for it or in a new one. */
export async function beginScript(thread: Thread, scriptId: string, decisions: Decisions = {}): Promise<RunNames> {
  const continuation = await thread.beginResume(scriptId, decisions);
  if (continuation.type !== 'script') throw new Error('the whole run continues');
  return continuation.names;
}

export function play(thread: Thread, names: RunNames, payloads: readonly EventPayload[]): StreamEvent[] {
  const { runId = 'run_other', turnId = 'turn_other', nextSeq = 0 } = names;
  const envelopes = new EventEnvelopes({ runId, turnId, threadId: thread.id }, nextSeq);
  const events = payloads.map((payload) => envelopes.next(payload));
  for (const event of events) thread.take(event);
  return events;
}

let count = 0;

export function message(content: string): EventPayload[] {
  count += 1;
  const id = `item_${count}`;
  const item: OutputItem = { type: 'message', id, role: 'assistant', content };
  return [
    { type: 'item_start', item_id: id, item_type: 'message', initial: { role: 'assistant' } },
    ...[...content].map((delta): EventPayload => ({ type: 'item_delta', item_id: id, delta })),
    { type: 'item_done', item_id: id, final_item: item },
  ];
}

/** A script of an answer asks for an approval, and is suspended. */
export function suspension(scriptId: string, approvalId: string): EventPayload[] {
  const approval = {
    approval_id: approvalId,
    call_id: 'call_1',
    script_id: scriptId,
    tool: 'exec',
    input: {},
    input_json: '{}',
    effect: 'write' as const,
    rendered: 'exec',
  };
  return [
    { type: 'approval_requested', approval },
    { type: 'response_done', status: 'suspended', script_id: scriptId, approval_ids: [approvalId] },
  ];
}

export function texts(thread: Thread): string[] {
  return thread.history.flatMap((item) => (item.type === 'message' ? [item.content] : []));
}

export async function runsOf(database: ThreadDatabase, threadId: string): Promise<Run[]> {
  return [...(await database.stores.runs.list({ threadId })).runs];
}

const { instance: _instance, ...own } = ownIdentity();

/** Other processes that hold a run: a live one, a dead one, and one whose state is unknown. */
export const OTHERS = {
  living: JSON.stringify({ ...own, instance: 'other' }),
  dead: JSON.stringify({ ...own, instance: 'other', startTime: '1' }),
  unknown: JSON.stringify({ ...own, instance: 'other', bootId: 'another boot' }),
};
