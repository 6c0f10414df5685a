import type { Client, StreamEvent } from '@toolscript/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RunFeed } from '#web/state/run-feed.ts';
import { begin, callDone, callStart, eventsOf, output, script } from '../view/events.js';
import { until } from '@toolscript/testkit/until';

// Node has no animation frames.
beforeEach(() => {
  vi.stubGlobal('requestAnimationFrame', (run: () => void) => Number(setTimeout(run, 1)));
  vi.stubGlobal('cancelAnimationFrame', clearTimeout);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const EVENTS = eventsOf(begin(), script(), callStart('c1'), callDone('c1'), output());

/** A client whose streams yield events until they are aborted. `stops`: before which event each of the first ones stops. */
function clientOf(stops: number[]): { client: Client; opened: number[] } {
  const opened: number[] = [];
  async function* stream(_runId: string, options: { from?: number; signal?: AbortSignal } = {}) {
    const { from = 0, signal } = options;
    opened.push(from);
    const last = stops.shift() ?? EVENTS.length;
    yield* EVENTS.slice(from, last);
    if (last < EVENTS.length) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  }
  return { client: { stream } as unknown as Client, opened };
}

describe('the feed of a run', () => {
  it('goes through all events, and ends', async () => {
    const { client } = clientOf([]);
    const seen: StreamEvent[] = [];
    const feed = new RunFeed(client, 'run_1', (event) => seen.push(event));
    void feed.start();
    await until(() => feed.store.value.connection === 'ended');
    expect(seen).toEqual(EVENTS);
    expect(feed.store.value.view.entries.map(({ type }) => type)).toEqual(['message', 'script']);
  });

  it('reads only what is missing after a pause', async () => {
    const { client, opened } = clientOf([3, 3]);
    const seen: StreamEvent[] = [];
    const feed = new RunFeed(client, 'run_1', (event) => seen.push(event));
    void feed.start();
    await until(() => seen.length === 3);
    feed.resume();
    feed.pause();
    feed.resume();
    await until(() => opened.length === 2);
    feed.pause();
    feed.resume();
    await until(() => feed.store.value.connection === 'ended');
    feed.pause();
    feed.resume();
    expect(opened).toEqual([0, 3, 3]);
    expect(seen).toEqual(EVENTS);
  });

  it('reads the events again for a replay, as many as have arrived', async () => {
    const { client } = clientOf([3, 3]);
    const feed = new RunFeed(client, 'run_1', () => undefined);
    void feed.start();
    await until(() => feed.store.value.turnId === 'turn_1');
    expect(await feed.readEvents(new AbortController().signal)).toEqual(EVENTS.slice(0, 3));
    feed.stop();
  });

  it('shows its events in a tab that is not painted', async () => {
    vi.stubGlobal('requestAnimationFrame', () => 0);
    const feed = new RunFeed(clientOf([]).client, 'run_1', () => undefined);
    await feed.start();
    await until(() => feed.store.value.connection === 'ended');
  });

  it('says why it failed', async () => {
    const client = {
      // oxlint-disable-next-line require-yield
      async *stream() {
        throw new Error('no such run');
      },
    } as unknown as Client;
    const feed = new RunFeed(client, 'run_1', () => undefined);
    void feed.start();
    await until(() => feed.store.value.connection === 'failed');
    expect(String(feed.store.value.error)).toContain('no such run');
  });
});
