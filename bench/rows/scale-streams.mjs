import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { absentRow, alternate } from '../measure.mjs';
import { BackingServices, missingServers } from '../service/backing-services.mjs';
import { openCluster, openEmbedded } from '../service/clusters.mjs';

const AT_ONCE = 50;

export const name = 'scale-streams';
export const ownResult = true;

/** Measures thousands of open streams of one process. Each stream receives the events of a run that was suspended. */
export async function measure({ effort: { openStreams } }) {
  const reason = missingServers();
  if (reason !== undefined) return [absentRow({ name, title: 'many streams', unit: '', better: 'lower' }, reason)];
  const services = await BackingServices.start();
  const servers = [];
  try {
    servers.push(await openCluster(services, 'streams', 1), await openEmbedded());
    const memory = [];
    const ends = [];
    for (const server of servers) {
      const { kilobytes, milliseconds } = await follow(server, openStreams);
      memory.push(kilobytes);
      ends.push(milliseconds);
    }
    const many = openStreams.toLocaleString('en-US').replaceAll(',', ' ');
    const notes = [`open files of a process: ${fileLimit()}; a stream needs one`];
    return [
      await row(
        'stream-memory',
        `memory of each of ${many} open streams, in the process that serves them`,
        'KB',
        memory,
        notes,
      ),
      await row('stream-ends', `from a decision to the run's last event at each of ${many} streams`, 'ms', ends, notes),
    ];
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    await services.stop();
  }
}

function row(what, title, unit, values, notes) {
  const names = ['PostgreSQL and Redis', 'one process over a file'];
  const columns = names.map((column, index) => ({
    name: column,
    role: index === 0 ? 'ours' : 'baseline',
    block: () => [values[index]].flat(),
  }));
  return alternate({ name: `scale-${what}`, title, unit, better: 'lower', notes }, columns, 1);
}

async function follow(server, count) {
  const runId = await server.submitWaiting();
  const streams = [];
  const kilobytes = await server.growth(count, async () => {
    for (let made = 0; made < count; made += AT_ONCE)
      streams.push(
        ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - made) }, () => server.openStream(runId)))),
      );
  });
  const texts = streams.map(() => '');
  const ended = streams.map(async (stream, index) => {
    stream.setEncoding('utf8').on('data', (text) => (texts[index] += text));
    await once(stream, 'end');
    return performance.now();
  });
  const decidedAt = performance.now();
  await server.approve(runId);
  const endedAt = await Promise.all(ended);
  assert.ok(
    texts.every((text) => /event: response_done\n.*"completed"/u.test(text)),
    'a stream lacks the end of the run',
  );
  return { kilobytes, milliseconds: endedAt.map((at) => at - decidedAt) };
}

function fileLimit() {
  try {
    return /^Max open files\s+(\d+)/mu.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
