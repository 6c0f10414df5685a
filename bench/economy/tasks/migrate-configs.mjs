import { oneByOne, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';
import { patchOf } from '../patches.mjs';

const SERVICES = ['billing', 'catalog', 'images', 'mail', 'orders', 'search', 'stock', 'users'].map((name, index) => ({
  name,
  host: `10.0.${index}.12`,
  port: 8_100 + index,
  timeout: 5 + index * 5,
  retries: 1 + (index % 4),
  logLevel: index % 3 === 0 ? 'debug' : 'info',
  features: { metrics: true, tracing: index % 2 === 0 },
}));
const pathOf = ({ name }) => `services/${name}.json`;
const textOf = (config) => `${JSON.stringify(config, null, 2)}\n`;
const migrated = ({ name, host, port, timeout, ...rest }) => ({
  name,
  listen: { host, port },
  timeoutMs: timeout * 1_000,
  ...rest,
});
const updates = SERVICES.map((service) => ({
  path: pathOf(service),
  hunks: [
    {
      from: [`  "host": "${service.host}",`, `  "port": ${service.port},`, `  "timeout": ${service.timeout},`],
      to: [
        '  "listen": {',
        `    "host": "${service.host}",`,
        `    "port": ${service.port}`,
        '  },',
        `  "timeoutMs": ${service.timeout * 1_000},`,
      ],
    },
  ],
}));
const steps = [
  ['grepFiles', { pattern: '"(host|port|timeout)"', path: 'services', matches: true }],
  ['applyPatch', { patch: patchOf(updates) }],
];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'migrate-configs',
  title: `${SERVICES.length} JSON files brought into another shape`,
  role: CODING_ROLE,
  ask: 'In services/*.json, put host and port into an object "listen" in their place, and replace timeout (seconds) by timeoutMs.',
  open: folderWorld(Object.fromEntries(SERVICES.map((service) => [pathOf(service), textOf(service)]))),
  ways: {
    one: oneByOne(steps),
    parallel: oneByOne(steps),
    scripts: [
      script(String.raw`
const { files } = await tools.fileSearch({ pattern: 'services/*.json' });
for (const { path: path } of files) {
  const { lines } = await tools.readFile({ path });
  const { name, host, port, timeout, ...rest } = JSON.parse(lines.join('\n'));
  const config = { name, listen: { host, port }, timeoutMs: timeout * 1000, ...rest };
  await tools.writeFile({ path, content: JSON.stringify(config, null, 2) + '\n' });
}
return files.length;`),
    ],
  },
  answer: `All ${SERVICES.length} files have "listen" and "timeoutMs" now.`,
  evidence: SERVICES.flatMap(({ host, port, timeout }) => [
    `"host": "${host}"`,
    `"port": ${port}`,
    `"timeout": ${timeout}`,
  ]),
  value: SERVICES.length,
  state: Object.fromEntries(SERVICES.map((service) => [pathOf(service), textOf(migrated(service))])),
  why: 'By calls, every line that changes is read and written by the model; the script says the change once.',
};
