import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventEnvelopes, type EventPayload } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { importThreads } from '#cli/threads/import-threads.js';
import { ThreadFiles } from '#cli/threads/thread-files.js';
import { message, runsOf, say, suspension, texts, ThreadPlace } from './place.js';

const DAY = Date.parse('2026-01-02T03:04:05Z');

/** A folder of conversations in the format of earlier versions. */
class OldPlace extends ThreadPlace {
  readonly folder = join(this.data, 'toolscript', 'threads');

  constructor() {
    super();
    mkdirSync(this.folder, { recursive: true });
  }

  /** Writes a conversation of these runs. */
  keep(id: string, ...runs: EventPayload[][]): string {
    const head = { type: 'thread', version: 1, thread_id: id, workspace: '/w', title: `Title of ${id}` };
    const lines: unknown[] = [
      { ...head, created_at: new Date(DAY).toISOString() },
      { type: 'voice', agent: 'coder', model: 'm', system: 'Be brief.' },
    ];
    for (const [index, payloads] of runs.entries()) {
      const envelopes = new EventEnvelopes({ runId: `run_${index}`, threadId: id, turnId: `turn_${index}` });
      const events = payloads.map((payload) => ({ ...envelopes.next(payload), timestamp: DAY + index }));
      lines.push(...events.filter(({ payload }) => payload.type !== 'item_delta'));
    }
    return this.write(id, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }

  write(id: string, text: string): string {
    const path = join(this.folder, `${id}.jsonl`);
    writeFileSync(path, text);
    utimesSync(path, DAY / 1_000, DAY / 1_000);
    return path;
  }
}

function asked(prompt: string): EventPayload {
  return { type: 'response_start', input: [{ type: 'message', id: `item_${prompt}`, role: 'user', content: prompt }] };
}

const DONE: EventPayload = { type: 'response_done', status: 'completed' };
const ONE: EventPayload[] = [asked('One'), ...message('Yes.'), DONE];
const TWO: EventPayload[] = [asked('Two'), ...message('No.'), DONE];

describe('conversations of earlier versions', () => {
  it('are imported once, with their times, and left in place', async () => {
    const place = new OldPlace();
    const path = place.keep('thr_a', ONE, TWO);
    const before = readFileSync(path, 'utf8');
    const database = await place.open();
    const [thread] = await database.list();
    expect(thread).toMatchObject({ threadId: 'thr_a', title: 'Title of thr_a', workspace: '/w', agentId: 'coder' });
    expect([thread!.createdAt, thread!.updatedAt]).toEqual([DAY, DAY]);
    const opened = await place.reopen(database, 'thr_a');
    expect([texts(opened), opened.system]).toEqual([['One', 'Yes.', 'Two', 'No.'], 'Be brief.']);
    await say(opened, 'Three', 'Yes.');
    const again = await place.open();
    expect(await runsOf(again, 'thr_a')).toHaveLength(3);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(place.warnings).toEqual([]);
  });

  it('do not come back after they are deleted; their files are deleted with them', async () => {
    const place = new OldPlace();
    const path = place.keep('thr_a', ONE);
    const database = await place.open();
    await database.delete(await database.find('thr_a'));
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, '');
    expect(await (await place.open()).list()).toEqual([]);
  });

  it('are imported completely after an interruption at any step', async () => {
    for (let step = 0; ; step += 1) {
      const place = new OldPlace();
      place.keep('thr_a', ONE, TWO);
      const ended = await importEndingAt(step, place);
      const database = await place.open();
      expect(texts(await place.reopen(database, 'thr_a')), `ended at step ${step}`).toEqual([
        'One',
        'Yes.',
        'Two',
        'No.',
      ]);
      expect((await runsOf(database, 'thr_a')).map(({ state }) => state)).toEqual(['completed', 'completed']);
      if (!ended) break;
    }
  });

  it('are imported once by concurrent processes', async () => {
    const place = new OldPlace();
    for (const id of ['thr_a', 'thr_b', 'thr_c']) place.keep(id, ONE, TWO);
    const [database] = await Promise.all([place.open(), place.open(), place.open()]);
    expect((await database.list()).map(({ threadId }) => threadId).toSorted()).toEqual(['thr_a', 'thr_b', 'thr_c']);
    for (const id of ['thr_a', 'thr_b', 'thr_c']) expect(await runsOf(database, id)).toHaveLength(2);
    expect(place.warnings).toEqual([]);
  });

  it('are reported once if damaged, and the others are imported', async () => {
    const place = new OldPlace();
    const path = place.keep('thr_a', ONE);
    place.keep('thr_b', ONE);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"seq":0', '"seq":'));
    const database = await place.open();
    expect((await database.list()).map(({ threadId }) => threadId)).toEqual(['thr_b']);
    expect(place.warnings).toEqual([
      `${path} is damaged at line 3, so its conversation is not imported. Correct the line, or remove the file.`,
    ]);
    await place.open();
    expect(place.warnings).toHaveLength(1);
    place.keep('thr_a', ONE);
    utimesSync(path, DAY / 1_000 + 60, DAY / 1_000 + 60);
    expect(await (await place.open()).list()).toHaveLength(2);
  });

  it('are imported even if the last line is truncated, and interrupted runs are closed', async () => {
    const place = new OldPlace();
    const path = place.keep('thr_a', [asked('One'), ...message('Half').slice(0, 1)]);
    place.write('thr_a', `${readFileSync(path, 'utf8')}{"event_id":"evt_`);
    const database = await place.open();
    expect(await runsOf(database, 'thr_a')).toMatchObject([{ state: 'incomplete' }]);
    expect(texts(await place.reopen(database, 'thr_a'))).toEqual(['One']);
  });

  it('still wait for their approvals', async () => {
    const place = new OldPlace();
    place.keep('thr_a', [asked('One'), ...message('I ask.'), ...suspension('scr_1', 'apr_1')]);
    const database = await place.open();
    expect((await place.reopen(database, 'thr_a')).waitingScript).toBe('scr_1');
    expect(await database.stores.threads.approval('apr_1')).toMatchObject({
      state: 'pending',
      request: { tool: 'exec' },
    });
  });
});

/** Imports until the step at which the process is killed, which does not run. False: the import has ended before. */
async function importEndingAt(step: number, place: OldPlace): Promise<boolean> {
  const files = new ThreadFiles(place.folder, join(place.data, 'toolscript', 'imported-threads'));
  const { openStores } = await import('@toolscript/server/stores');
  const stores = await openStores(`libsql:${join(place.data, 'toolscript', 'toolscript.db')}`);
  let steps = 0;
  const ending = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (from, name) => {
        const value = Reflect.get(from, name) as unknown;
        if (typeof value !== 'function') return value;
        return (...parameters: unknown[]) => {
          steps += 1;
          if (steps > step) throw Object.assign(new Error('killed'), { name: 'StoreUnavailableError' });
          return (value as (...parameters: unknown[]) => unknown).apply(from, parameters);
        };
      },
    });
  const killed = { ...stores, threads: ending(stores.threads), runs: ending(stores.runs) };
  try {
    await importThreads(killed, files, { warn: () => {}, setTime: () => {} });
    return false;
  } catch {
    return true;
  } finally {
    await stores.close();
  }
}
