import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload, OutputItem, ServiceStores, ThreadStore } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { loadHistory } from '#service/runs/run-history.js';
import { memoryStores } from '#service/stores/index.js';

const message = (id: string, role: 'user' | 'assistant') => ({ type: 'message', id, role, content: id }) as const;

/** A thread in which the time of each event is the number of events before it. */
class Thread {
  readonly stores = memoryStores();
  threadId: string | undefined;
  #time = 0;
  readonly #envelopes = new Map<string, EventEnvelopes>();

  async submit(prompt: string): Promise<string> {
    const thread = this.threadId === undefined ? { create: {} } : { threadId: this.threadId };
    const draft = { principal: 'ada', thread, input: [message(prompt, 'user')], options: {} };
    const { run } = await this.stores.runs.create(draft);
    this.threadId = run.threadId;
    this.#envelopes.set(run.runId, new EventEnvelopes(run, 0));
    return run.runId;
  }

  async emit(runId: string, epoch: number, payloads: readonly EventPayload[]): Promise<void> {
    const envelopes = this.#envelopes.get(runId)!;
    const events = payloads.map((payload) => ({ ...envelopes.next(payload), timestamp: (this.#time += 1) }));
    await this.stores.threads.append(events, { epoch });
  }

  async say(runId: string, epoch: number, id: string): Promise<void> {
    const item: OutputItem = message(id, 'assistant');
    await this.emit(runId, epoch, [{ type: 'item_done', item_id: id, final_item: item }]);
  }

  begin(runId: string, prompt: string): Promise<void> {
    return this.emit(runId, 1, [{ type: 'response_start', input: [message(prompt, 'user')] }]);
  }

  async history(stores: ServiceStores = this.stores): Promise<string[]> {
    return (await loadHistory(stores, this.threadId!)).map(({ id }) => id);
  }
}

/** Stores whose events can only be read one by one. */
function withoutLongReads(stores: ServiceStores): ServiceStores {
  const readEvents: ThreadStore['readEvents'] = async (runId, range) => {
    expect(range?.limit).toBe(1);
    return stores.threads.readEvents(runId, range);
  };
  const threads = new Proxy(stores.threads, {
    get: (target, name) => {
      if (name === 'readEvents') return readEvents;
      const member = Reflect.get(target, name) as unknown;
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return { ...stores, threads };
}

it('a prompt that waited for the run before it does not need the events of the thread', async () => {
  const thread = new Thread();
  const first = await thread.submit('a');
  await thread.stores.runs.claim({ owner: 'x', leaseMs: 60_000 });
  await thread.begin(first, 'a');
  const second = await thread.submit('b');
  await thread.say(first, 1, 'a1');
  await thread.stores.runs.finish({ runId: first, epoch: 1 }, { state: 'completed' });
  await thread.stores.runs.claim({ owner: 'x', leaseMs: 60_000 });
  await thread.begin(second, 'b');
  await thread.say(second, 1, 'b1');
  await thread.stores.runs.finish({ runId: second, epoch: 1 }, { state: 'completed' });
  expect(await thread.history(withoutLongReads(thread.stores))).toEqual(['a', 'a1', 'b', 'b1']);
});
