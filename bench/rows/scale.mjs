import { alternate, absentRow } from '../measure.mjs';
import { BackingServices, missingServers } from '../service/backing-services.mjs';
import { DISTRIBUTED, EMBEDDED, openCluster, openEmbedded } from '../service/clusters.mjs';
import { EVERY_MS } from '../service/bench-server.mjs';

const CLIENTS = 50;
const CONCURRENT = 40;

export const name = 'scale';
export const ownResult = true;

/** Measures one process over a file, and several over PostgreSQL and Redis, in turn on one machine. */
export async function measure({ effort }) {
  const reason = missingServers();
  if (reason !== undefined) return [absentRow({ name, title: 'several machines', unit: '', better: 'lower' }, reason)];
  const services = await BackingServices.start();
  const served = [];
  try {
    served.push({ ...EMBEDDED, role: 'ours', server: await openEmbedded() });
    for (const { name: title, workers } of DISTRIBUTED) {
      const database = `workers_${workers}`;
      served.push({ name: title, role: 'baseline', database, server: await openCluster(services, database, workers) });
    }
    for (const { server } of served) await server.play(5, effort.serverDeltas);
    const rows = [await throughputRow(served, effort), ...(await latencyRows(served, effort))];
    return [...rows, await costRow(services, served, effort)];
  } finally {
    await Promise.all(served.map(({ server }) => server.close()));
    await services.stop();
  }
}

function throughputRow(served, { serverRounds }) {
  const row = {
    name: 'scale-throughput',
    title: `runs of one delta, submitted and streamed to their end, by ${CLIENTS} clients`,
    unit: 'runs/s',
    better: 'higher',
    notes: ['all processes, both servers and the clients share the cores of one machine'],
  };
  const block = async (server) => {
    const began = performance.now();
    for (let round = 0; round < 4; round += 1) await server.play(CLIENTS, 1, 0);
    return [(4 * CLIENTS) / ((performance.now() - began) / 1_000)];
  };
  return alternate(row, columnsOf(served, block), serverRounds);
}

async function latencyRows(served, { serverDeltas, serverRounds }) {
  const firsts = new Map(served.map(({ server }) => [server, []]));
  const latency = { unit: 'ms', better: 'lower' };
  const delta = {
    name: 'scale-delta',
    title: `a delta of the model to its byte at a client, ${CONCURRENT} concurrent runs`,
    ...latency,
    notes: [`each run gives a delta every ${EVERY_MS} ms`],
  };
  const first = {
    name: 'scale-first-event',
    title: `submit to the first event, ${CONCURRENT} runs at once`,
    ...latency,
  };
  const play = async (server) => {
    const played = await server.play(CONCURRENT, serverDeltas);
    firsts.get(server).push(played.map(({ firstMs }) => firstMs));
    return played.flatMap(({ delays }) => delays);
  };
  const deltas = await alternate(delta, columnsOf(served, play), serverRounds);
  const shifted = async (server) => firsts.get(server).shift();
  return [deltas, await alternate(first, columnsOf(served, shifted), serverRounds)];
}

/** The cost of a short run, and of one with many deltas. */
async function costRow(services, served, { serverDeltas }) {
  const table = [['a run of', ...COSTS.map(([title]) => title)]];
  const cpus = [];
  for (const { name: title, database, server } of served)
    for (const deltas of [1, serverDeltas]) {
      const cost = await costOf(services, database, server, deltas);
      if (deltas > 1) cpus.push([cost.cpuMs]);
      const words = deltas === 1 ? 'one delta' : `${deltas} deltas`;
      table.push([`${words}, ${title}`, ...COSTS.map(([, key]) => numberIn(cost[key]))]);
    }
  const row = {
    name: 'scale-cost',
    title: `CPU time of all processes of Toolscript for a run of ${serverDeltas} deltas`,
    unit: 'ms',
    better: 'lower',
    notes: ['statements and bytes: from pg_stat_statements and INFO, without the work of an idle service'],
    tables: [table],
  };
  return alternate(
    row,
    columnsOf(served, async () => cpus.shift()),
    1,
  );
}

const COSTS = [
  ['statements', 'statements'],
  ['of them writes', 'writes'],
  ['commits', 'commits'],
  ['KB of WAL', 'walKb'],
  ['scripts in Redis', 'redisCommands'],
  ['KB to and from Redis', 'redisKb'],
  ['ms in Redis', 'redisMs'],
  ['ms of CPU', 'cpuMs'],
  ['connections', 'connections'],
];

async function costOf(services, database, server, deltas) {
  const runs = CONCURRENT;
  const [before, cpuBefore] = [await countersOf(services, database), await server.cpuMicroseconds()];
  await server.play(runs, deltas);
  const [after, cpuAfter] = [await countersOf(services, database), await server.cpuMicroseconds()];
  const perRun = (key) => (after[key] - before[key]) / runs;
  const open = database === undefined ? undefined : await services.connections(database);
  return {
    statements: perRun('statements'),
    writes: perRun('writes'),
    commits: perRun('commits'),
    walKb: perRun('walBytes') / 1_000,
    redisCommands: perRun('redisCommands'),
    redisMs: perRun('redisMs'),
    redisKb: perRun('redisBytes') / 1_000,
    cpuMs: (cpuAfter - cpuBefore) / 1_000 / runs,
    connections: open?.postgres,
  };
}

function countersOf(services, database) {
  return database === undefined ? {} : services.counters(database);
}

function columnsOf(served, block) {
  return served.map(({ name: title, role, server }) => ({ name: title, role, block: () => block(server) }));
}

function numberIn(value) {
  if (value === undefined || Number.isNaN(value)) return '–';
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1);
}
