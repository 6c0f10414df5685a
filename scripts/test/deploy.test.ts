import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { QuickJsPool } from '@toolscript/core/internal';
import { createServer } from '@toolscript/server';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from './documents.js';

const PROGRAM = join(root, 'packages/cli/bin/toolscript.js');

const readFile = (path: string) => readFileSync(join(root, path), 'utf8');

interface Target {
  readonly expr: string;
}
interface Panel {
  readonly title: string;
  readonly targets?: readonly Target[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}

const dashboard = JSON.parse(readFile('deploy/grafana-dashboard.json')) as { readonly panels: readonly Panel[] };
const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const alerts = parse(readFile('deploy/alerts.yaml')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);
const queries = [...shown, ...rules.map(({ expr }) => expr)];

/** The metrics of a server, each with its type. */
let types: ReadonlyMap<string, string>;

beforeAll(async () => {
  const sandbox = new QuickJsPool({ size: 1 });
  const token = 'a-token-of-the-tests';
  const server = await createServer({ stores: 'memory:', sandbox, auth: { token } });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const body = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
  await server.close();
  await sandbox.close();
  types = new Map([...body.matchAll(/^# TYPE (\S+) (\S+)$/gmu)].map(([, name, type]) => [name!, type!]));
});

interface ParsedQuery {
  readonly isValid: boolean;
  readonly metrics: readonly string[];
}

/** Grafana replaces `$__rate_interval` before Prometheus reads the query. */
function parsed(query: string): ParsedQuery {
  const text = query.replaceAll('$__rate_interval', '5m');
  const metrics: string[] = [];
  let isValid = true;
  parser.parse(text).iterate({
    enter(node) {
      isValid &&= !node.type.isError;
      if (node.name === 'VectorSelector') metrics.push(/^[\w:]*/u.exec(text.slice(node.from, node.to))![0]);
    },
  });
  return { isValid, metrics };
}

/** The name of the metric that a query reads, without the suffix of a histogram's series. */
function familyOf(series: string): string | undefined {
  if (types.has(series)) return types.get(series) === 'histogram' ? undefined : series;
  const family = series.replace(/_(?:bucket|sum|count)$/u, '');
  return types.get(family) === 'histogram' ? family : undefined;
}

describe('the dashboard and the alert rules', () => {
  it('contain only valid queries', () => {
    expect(shown.length).toBeGreaterThan(35);
    expect(queries.filter((query) => !parsed(query).isValid)).toEqual([]);
    expect(parsed('sum(rate(toolscript_runs[5m])').isValid).toBe(false);
  });

  it('read only metrics that a server has', () => {
    // `up` is Prometheus's own.
    const unknown = queries
      .flatMap((query) => parsed(query).metrics)
      .filter((name) => name !== 'up' && familyOf(name) === undefined);
    expect(unknown).toEqual([]);
    expect(familyOf('toolscript_no_such_metric')).toBeUndefined();
    expect(familyOf('toolscript_event_write_seconds')).toBeUndefined();
  });

  it('show every metric of a server', () => {
    const read = new Set(shown.flatMap((query) => parsed(query).metrics.map(familyOf)));
    expect(types.size).toBeGreaterThan(35);
    expect([...types.keys()].filter((name) => !read.has(name))).toEqual([]);
  });

  it('each alert has a section of the runbook, and each section an alert', () => {
    const page = readFile('docs/operations.md');
    const alarms = page.slice(page.indexOf('\n## Alarms\n')).split(/\n## /u)[1]!;
    const sections = [...alarms.matchAll(/^### (\w+)$/gmu)].map(([, name]) => name);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations, expr } of rules) {
      expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect(alarms, alert).toContain(`\`${expr}\``);
    }
  });
});

/** The words of a command line of the program, in the files of this folder. */
interface Container {
  readonly command: readonly string[];
  readonly environment: readonly string[];
  readonly ports: readonly number[];
  readonly probes: readonly { readonly path: string; readonly port: unknown }[];
}

interface ComposeService {
  readonly build?: string;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly string[] };
}

function composeContainers(): Container[] {
  const { services } = parse(readFile('deploy/compose.yaml'), { merge: true }) as {
    services: Record<string, ComposeService>;
  };
  const environment = variablesOf(readFile('deploy/secrets.env.example'));
  return Object.values(services)
    .filter(({ build }) => build !== undefined)
    .map(({ command = [], ports = [], healthcheck }) => {
      const probe = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/u.exec(healthcheck?.test?.join(' ') ?? '');
      return {
        command,
        environment,
        ports: ports.map((port) => Number(port.split(':').at(-1))),
        probes: probe === null ? [] : [{ path: probe[2]!, port: Number(probe[1]) }],
      };
    });
}

const variablesOf = (text: string) => [...text.matchAll(/^(\w+)=/gmu)].map(([, name]) => name!);

interface Manifest {
  readonly kind: string;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly KubernetesContainer[] } } };
}

interface KubernetesContainer {
  readonly args: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly [probe: `${string}Probe`]:
    | { readonly httpGet: { readonly path: string; readonly port: string } }
    | undefined;
}

const manifests = () =>
  parseAllDocuments(readFile('deploy/kubernetes.yaml')).map((document) => document.toJS() as Manifest);

function kubernetesContainers(): Container[] {
  const environment = manifests().flatMap(({ stringData = {} }) => Object.keys(stringData));
  return manifests().flatMap(({ spec }) =>
    (spec?.template?.spec.containers ?? []).map((container) => {
      const { args, ports = [] } = container;
      const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const;
      return {
        command: args,
        environment,
        ports: ports.map(({ containerPort }) => containerPort),
        probes: probes.flatMap((name) => {
          const get = container[name]?.httpGet;
          const port = ports.find((one) => one.name === get?.port)?.containerPort;
          return get === undefined ? [] : [{ path: get.path, port }];
        }),
      };
    }),
  );
}

/** The options of a command, as its help lists them. */
function optionsOf(command: readonly string[]): string[] {
  const words = command.slice(
    0,
    command.findIndex((word) => word.startsWith('-')),
  );
  const subcommand = words[0] === 'keys' ? words.slice(0, 2) : words;
  const { status, stdout } = spawnSync(process.execPath, [PROGRAM, ...subcommand, '--help'], { encoding: 'utf8' });
  expect(status).toBe(0);
  return [...stdout.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gmu)].map(([, name]) => name!);
}

/** Variables that the clients of PostgreSQL and Redis read, with the servers' own. */
const OF_DATABASES = ['PGPASSWORD', 'POSTGRES_PASSWORD', 'REDISCLI_AUTH'];

describe.each([
  ['compose.yaml', composeContainers],
  ['kubernetes.yaml', kubernetesContainers],
])('deploy/%s', (_name, containers) => {
  it('names only options, variables, ports and paths that the program has', () => {
    const found = containers();
    expect(found.length).toBeGreaterThan(3);
    const known = new Map<string, readonly string[]>();
    const reference = readFile('docs/reference/cli.md');
    for (const { command, environment, ports, probes } of found) {
      const subcommand = command[0]!;
      if (!known.has(subcommand)) known.set(subcommand, optionsOf(command));
      const options = command.filter((word) => word.startsWith('--'));
      expect(options.filter((option) => !known.get(subcommand)!.includes(option))).toEqual([]);
      const ours = environment.filter((name) => !OF_DATABASES.includes(name) && !name.endsWith('_API_KEY'));
      expect(ours).toEqual(['TOOLSCRIPT_SUSPENSION_KEY']);
      for (const name of ours) expect(reference).toContain(`\`${name}\``);
      const port = Number(command[command.indexOf('--port') + 1]);
      for (const one of [...ports, ...probes.map((probe) => probe.port)]) expect(one).toBe(port);
      for (const { path } of probes) expect(['/healthz', '/readyz']).toContain(path);
    }
  });

  it('has each role, and each server answers a probe', () => {
    const servers = containers().filter(({ command }) => command[0] === 'serve');
    const roles = servers.map(({ command }) => command[command.indexOf('--role') + 1]);
    expect(roles.toSorted()).toEqual(['api', 'persistence', 'worker']);
    for (const { probes } of servers) expect(probes.map(({ path }) => path)).toContain('/readyz');
  });

  it('gives a server more time to end than it needs', () => {
    const text = readFile(`deploy/${_name}`);
    const times = [...text.matchAll(/(?:stop_grace_period: |terminationGracePeriodSeconds: )(\d+)/gu)].map(([, s]) =>
      Number(s),
    );
    expect(times.length).toBeGreaterThan(0);
    // 6 s for runs, 2 s to return them, and the pause before the signal.
    expect(Math.min(...times)).toBeGreaterThanOrEqual(20);
  });
});

describe('the scrape configuration', () => {
  it('reads the port of the servers, with the job of the alert rules', () => {
    const {
      scrape_configs: [scrape],
    } = parse(readFile('deploy/prometheus.yaml')) as {
      scrape_configs: [{ job_name: string; static_configs: [{ targets: string[] }] }];
    };
    expect(rules[0]!.expr).toContain(`job="${scrape.job_name}"`);
    expect(scrape.static_configs[0].targets.map((target) => target.split(':')[1])).toEqual(['4319', '4319', '4319']);
  });
});
