import { z } from 'zod';
import { calls, oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const SERVERS = Array.from({ length: 10 }, (_, index) => `app-${String(index + 1).padStart(2, '0')}`);
const DEGRADED = ['app-03', 'app-06', 'app-07', 'app-09'];
const OUT_OF_MEMORY = ['app-03', 'app-07'];
const statusOf = (server) => ({
  server,
  state: DEGRADED.includes(server) ? 'degraded' : 'healthy',
  uptimeHours: 100 + Number(server.slice(4)) * 31,
  cpuPercent: 20 + Number(server.slice(4)) * 5,
  memoryPercent: OUT_OF_MEMORY.includes(server) ? 97 : 48,
});
const logOf = (server) =>
  Array.from({ length: 15 }, (_, line) =>
    line === 11 && OUT_OF_MEMORY.includes(server)
      ? `09:${12 + line}:07 error OutOfMemory: worker 3 was ended by the system`
      : `09:${12 + line}:07 ${line % 4 === 3 ? 'warn slow answer of the database' : 'info request served'} (${(line * 83) % 400} ms)`,
  );
const status = (server) => ['getStatus', { server }];
const log = (server) => ['readLog', { server, lines: 15 }];
const restart = (server) => ['restartServer', { server }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'conditional',
  title: 'ten servers, logs of the degraded ones, restarts of some',
  role: 'You look after servers. Use the tools. Be brief.',
  ask: 'Restart the servers that are degraded because they ran out of memory (OutOfMemory in the last 15 lines of the log), and no other.',
  open: serviceWorld(() => {
    const state = { restarted: [] };
    const server = z.object({ server: z.string() });
    return {
      state,
      tools: [
        {
          name: 'listServers',
          description: 'Names of all servers.',
          input: z.object({}),
          output: z.array(z.string()),
          execute: () => SERVERS,
        },
        {
          name: 'getStatus',
          description: 'How a server is.',
          input: server,
          output: z.object({
            server: z.string(),
            state: z.enum(['healthy', 'degraded', 'down']),
            uptimeHours: z.number(),
            cpuPercent: z.number(),
            memoryPercent: z.number(),
          }),
          execute: ({ server }) => statusOf(server),
        },
        {
          name: 'readLog',
          description: 'The last lines of the log of a server.',
          input: server.extend({ lines: z.number().int() }),
          output: z.array(z.string()),
          execute: ({ server }) => logOf(server),
        },
        {
          name: 'restartServer',
          description: 'Restarts a server.',
          input: server,
          output: z.object({ restarted: z.boolean() }),
          effect: 'external',
          execute: ({ server }) => {
            state.restarted.push(server);
            return { restarted: true };
          },
        },
      ],
    };
  }),
  ways: {
    one: oneByOne([['listServers', {}], ...SERVERS.map(status), ...DEGRADED.map(log), ...OUT_OF_MEMORY.map(restart)]),
    parallel: [
      calls(['listServers', {}]),
      calls(...SERVERS.map(status)),
      calls(...DEGRADED.map(log)),
      calls(...OUT_OF_MEMORY.map(restart)),
    ],
    scripts: [
      script(`
const servers = await tools.listServers({});
const states = await Promise.all(servers.map((server) => tools.getStatus({ server })));
const restarted: string[] = [];
for (const { server } of states.filter(({ state }) => state === 'degraded')) {
  const log = await tools.readLog({ server, lines: 15 });
  if (!log.some((line) => line.includes('OutOfMemory'))) continue;
  await tools.restartServer({ server });
  restarted.push(server);
}
return restarted;`),
    ],
  },
  answer: `Restarted ${OUT_OF_MEMORY.join(' and ')}.`,
  evidence: [...DEGRADED.map((server) => `{"server":"${server}","state":"degraded"`), 'OutOfMemory: worker 3'],
  value: OUT_OF_MEMORY,
  state: { restarted: OUT_OF_MEMORY },
  why: 'What follows depends on what was found, by a rule that can be written down: the script decides, and no turn is needed between the steps.',
};
