import type { EventPayload, Run, StreamEvent } from '@toolscript/core/protocol';
import { storedEvents } from '@toolscript/service';
import { describe, expect, it } from 'vitest';
import { responseFrame } from '#server/responses/follow-response.js';
import { responseTexts, runResponse } from '#server/responses/response-resource.js';

const RUN = { runId: 'run_1', threadId: 'thr_1', createdAt: 0, state: 'completed', options: {} } as unknown as Run;

function eventOf(seq: number, payload: object): StreamEvent {
  const ids = { event_id: `evt_${seq}`, run_id: 'run_1', thread_id: 'thr_1', turn_id: 'turn_1' };
  return { ...ids, seq, timestamp: 0, payload: payload as EventPayload };
}

const message = (id: string) => ({ type: 'message', id, role: 'assistant', content: `text of ${id}` });
const EVENTS = ['a', 'b', 'c', 'd']
  .map((id, seq) => eventOf(seq, { type: 'item_done', item_id: id, final_item: message(id) }))
  .concat(eventOf(4, { type: 'response_done', status: 'completed' }));

/** A store that answers each request at once, with one event. */
const threads = {
  readEvents: async (_runId: string, { from = 0 } = {}) => ({
    events: [EVENTS[from]!],
    ...(from + 1 < EVENTS.length ? { next: from + 1 } : {}),
  }),
};

describe('a long response', () => {
  it('gives other work a turn before each page of its events', async () => {
    let passed = 0;
    let isEnded = false;
    const pass = () => {
      passed += 1;
      if (!isEnded) setImmediate(pass);
    };
    setImmediate(pass);
    const read: [seq: number, passed: number][] = [];
    for await (const { seq } of storedEvents({ threads } as never, 'run_1')) read.push([seq, passed]);
    isEnded = true;
    expect(read.map(([seq]) => seq)).toEqual([0, 1, 2, 3, 4]);
    for (const [seq, turns] of read) expect(turns).toBeGreaterThanOrEqual(seq);
  });

  it('is sent in one part for each item, which together are its JSON text', async () => {
    const response = await runResponse(RUN, storedEvents({ threads } as never, 'run_1'), []);
    expect(response.output).toHaveLength(4);
    const parts = [...responseTexts(response)];
    expect(parts).toHaveLength(6);
    expect(JSON.parse(parts.join(''))).toEqual(JSON.parse(JSON.stringify(response)));
  });

  it('is sent in parts in the last event of its stream, too', async () => {
    const response = await runResponse(RUN, EVENTS, []);
    const parts = [...responseFrame({ type: 'response.completed', sequence_number: 9, response })];
    expect(parts.length).toBeGreaterThan(6);
    const [, data] = /^event: response\.completed\ndata: (.*)\n\n$/u.exec(parts.join(''))!;
    expect(JSON.parse(data!)).toEqual(
      JSON.parse(JSON.stringify({ type: 'response.completed', sequence_number: 9, response })),
    );
  });
});
