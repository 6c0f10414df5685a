import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import { StoreUnavailableError } from '@toolscript/core/ports';
import type { EventLog, ServiceStores } from '@toolscript/core/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEventLog, openStores } from '@toolscript/service/stores';
import { effectsIn, oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

const FULL = 'toolscript.db cannot grow: the disk is full. Free disk space and try again.';

/** The operations that a full disk allows. */
const READS = ['get', 'list', 'read', 'readEvents', 'readItems', 'instructions', 'approval', 'listApprovals'];

interface Disk {
  /** The number of writes that succeed after the next submitted run; undefined: all. */
  room: number | undefined;
  /** The number of writes that still succeed. */
  left: number;
  refused: number;
}

/** A store on a disk that may be full. */
function onDisk<Port extends object>(port: Port, disk: Disk): Port {
  return new Proxy(port, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function') return member;
      const isRead = READS.includes(String(name)) || ['subscribe', 'watch', 'close'].includes(String(name));
      return (...parameters: unknown[]): unknown => {
        if (!isRead && disk.left === 0) {
          disk.refused += 1;
          return Promise.reject(new StoreUnavailableError(FULL));
        }
        if (!isRead) disk.left -= 1;
        if (name === 'create' && disk.room !== undefined) disk.left = disk.room;
        return (member as (...all: unknown[]) => unknown).apply(target, parameters);
      };
    },
  });
}

async function openOnDisk(disk: Disk) {
  const folder = newFolder();
  const url = `libsql:${join(folder, 'toolscript.db')}`;
  const [stores, log] = [await openStores(url), await openEventLog(url)];
  const wrapped: ServiceStores = { ...stores, threads: onDisk(stores.threads, disk), runs: onDisk(stores.runs, disk) };
  const faults: string[] = [];
  const stream = { write: (line: string) => void faults.push(line) };
  const server = await openTestServer({
    folder,
    stores: wrapped,
    events: onDisk(log, disk) as EventLog,
    logger: { level: 'error', stream },
    agents: (parts) => [oneScriptAgent(parts, join(folder, 'effects'))],
  });
  onTestFinished(async () => {
    disk.left = Infinity;
    await server.close({ keepsData: true });
    await log.close();
    await stores.close();
  });
  const submit = (prompt: string) => server.call('POST', '/api/v2/submit', { prompt, agentId: 'one-script' });
  const logged = () =>
    faults
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'an error interrupted the work on runs; check the stores and the cause in err');
  return { ...server, submit, logged, folder };
}

const SCRIPT = "await tools.mark({ tag: 'a' }); await sleep(20); return await tools.mark({ tag: 'b' });";

describe('a disk that is full', () => {
  // The run's writes: its claim, its log, its events in two places, and its end.
  it.each([0, 2, 8])(
    'after %i writes of a run loses no run: it continues when there is room again, no effect is repeated, and one fault is logged',
    async (count) => {
      const disk: Disk = { room: undefined, left: Infinity, refused: 0 };
      const { submit, logged, stores, follow, folder } = await openOnDisk(disk);
      disk.room = count;
      const { status, body } = await submit(SCRIPT);
      expect(status).toBe(202);
      await until(() => logged().length > 0);
      const refused = await submit(SCRIPT);
      expect(refused).toMatchObject({ status: 503, body: { title: 'Unavailable' } });
      // The sweep tries the store again, and fails again.
      const before = disk.refused;
      await until(() => disk.refused > before);
      expect(logged().map(({ err }) => err.message)).toEqual([FULL]);
      expect((await stores.runs.get(body.runId))!.state).not.toBe('failed');
      Object.assign(disk, { room: undefined, left: Infinity });
      const events = await follow(body.runId);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
      expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
      const effects = effectsIn(join(folder, 'effects'));
      expect(new Set(effects).size).toBe(effects.length);
      const told = JSON.stringify(foldResponse(events).output_items);
      for (const tag of effects) expect(told).toContain(`"tag":"${tag}"`);
      expect((await submit(SCRIPT)).status).toBe(202);
    },
  );
});

describe('a database file', () => {
  it('that was deleted is created again at the start, and a damaged one is rejected in one sentence', async () => {
    const folder = newFolder();
    const path = join(folder, 'toolscript.db');
    const first = await openTestServer({ folder });
    await first.close({ keepsData: true });
    for (const name of ['', '-wal', '-shm']) rmSync(`${path}${name}`, { force: true });
    const second = await openTestServer({ folder });
    expect((await second.call('GET', '/api/v2/threads')).body).toEqual({ data: [] });
    await second.close({ keepsData: true });
    writeFileSync(path, randomBytes(20_000));
    const refusal = `${path} is damaged, or is not a Toolscript database. Move it away to start with an empty one, or restore a backup.`;
    await expect(openTestServer({ folder })).rejects.toThrow(new StoreUnavailableError(refusal));
  });
});
