import { alternate } from '../measure.mjs';
import { BenchServer, EVERY_MS } from '../service/bench-server.mjs';

const IDLE_THREADS = 300;
const WAITING_RUNS = 100;
const OPEN_STREAMS = 500;

const LATENCY = { unit: 'ms', better: 'lower', limit: 50, limitOf: 'p99' };
const MEMORY = { unit: 'KB', better: 'lower' };

export const name = 'server';
export const ownResult = true;

/** The server over HTTP, in a separate process, over a file. Its clients run in this process. */
export async function measure({ effort }) {
  const server = await BenchServer.open();
  try {
    await server.play(5, effort.serverDeltas);
    const rows = [];
    for (const runs of [50, 200]) rows.push(...(await latencyRows(server, runs, effort)));
    rows.push(await throughputRow(server, effort), ...(await memoryRows(server)));
    return rows;
  } finally {
    await server.close();
  }
}

async function latencyRows(server, runs, { serverDeltas, serverRounds }) {
  const [firsts, cpus] = [[], []];
  const delta = {
    name: `server-delta-${runs}`,
    title: `a delta of the model to its byte at a client, ${runs} concurrent runs`,
    ...LATENCY,
    notes: [
      'plain http: the same deltas from the same process, without agent, store and log',
      `each run gives a delta every ${EVERY_MS} ms; the clients are in another process of the same machine`,
    ],
  };
  const first = {
    name: `server-first-event-${runs}`,
    title: `submit to the first event, ${runs} runs at once`,
    ...LATENCY,
  };
  const cpu = {
    name: `server-cpu-${runs}`,
    title: `CPU time of the server for a delta, ${runs} concurrent runs`,
    unit: 'µs',
    better: 'lower',
    notes: ['all threads; with the share of a run’s beginning and end'],
  };
  const playAll = async () => {
    const before = await server.cpuMicroseconds();
    const played = await server.play(runs, serverDeltas);
    cpus.push([((await server.cpuMicroseconds()) - before) / runs / serverDeltas]);
    firsts.push(played.map(({ firstMs }) => firstMs));
    return played.flatMap(({ delays }) => delays);
  };
  const playPlainly = async () => (await server.playPlainly(runs, serverDeltas)).flat();
  const columns = [...ours(playAll), { name: 'plain http', role: 'baseline', block: playPlainly }];
  const rows = [await alternate(delta, columns, serverRounds)];
  for (const [row, blocks] of [
    [first, firsts],
    [cpu, cpus],
  ])
    rows.push(
      await alternate(
        row,
        ours(() => blocks.shift()),
        serverRounds,
      ),
    );
  return rows;
}

function throughputRow(server, { serverRounds }) {
  const row = {
    name: 'server-throughput',
    title: 'runs of one delta, submitted and streamed to their end, by 50 clients',
    unit: 'runs/s',
    better: 'higher',
  };
  const block = async () => {
    const began = performance.now();
    for (let round = 0; round < 4; round += 1) await server.play(50, 1, 0);
    return [200 / ((performance.now() - began) / 1_000)];
  };
  return alternate(row, ours(block), serverRounds);
}

async function memoryRows(server) {
  const idle = await server.growth(IDLE_THREADS, async () => {
    for (let played = 0; played < IDLE_THREADS; played += 50) await server.play(50, 1, 0);
  });
  const waiting = [];
  const suspended = await server.growth(WAITING_RUNS, async () => {
    for (let made = 0; made < WAITING_RUNS; made += 1) waiting.push(await server.submitWaiting());
  });
  const streams = [];
  const open = await server.growth(OPEN_STREAMS, async () => {
    for (let made = 0; made < OPEN_STREAMS; made += 1) streams.push(await server.openStream(waiting[0]));
  });
  for (const stream of streams) stream.destroy();
  return [
    await memoryRow('server-memory-thread', 'memory of a thread whose run has ended', idle),
    await memoryRow('server-memory-waiting', 'memory of a run that waits for an approval', suspended),
    await memoryRow('server-memory-stream', 'memory of an open stream of a run that waits', open),
  ];
}

function memoryRow(rowName, title, kilobytes) {
  return alternate(
    { name: rowName, title, ...MEMORY },
    ours(() => [kilobytes]),
    1,
  );
}

function ours(block) {
  return [{ name: 'toolscript', role: 'ours', block }];
}
