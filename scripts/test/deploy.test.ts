import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { QuickJsPool } from '@toolscript/core/internal';
import { createServer } from '@toolscript/server';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { newFolder } from '@toolscript/testkit/folder';
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
interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}

const dashboard = JSON.parse(readFile('deploy/grafana-dashboard.json')) as { readonly panels: readonly Panel[] };
const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const alerts = parse(readFile('deploy/alerts.yaml')) as {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
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

/** What a container of the program gets, in either form. */
interface Container {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  readonly probes: readonly { readonly path: string; readonly port: unknown }[];
}

interface ComposeService {
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly string[] };
  readonly image?: string;
  readonly privileged?: boolean;
  readonly network_mode?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly env_file?: string;
  readonly networks?: readonly string[];
  readonly volumes?: readonly string[];
}

const compose = parse(readFile('deploy/compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
};

/** The values of the example file, which must be replaced. */
const exampleValues = Object.fromEntries(
  [...readFile('deploy/secrets.env.example').matchAll(/^(\w+)=(.*)$/gmu)].map(([, name, value]) => [name!, value!]),
);

function composeContainers(): Container[] {
  return Object.values(compose.services)
    .filter(({ build }) => build !== undefined)
    .map(({ command = [], environment = {}, ports = [], healthcheck }) => {
      const probe = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/u.exec(healthcheck?.test?.join(' ') ?? '');
      return {
        command,
        environment: Object.fromEntries(Object.keys(environment).map((name) => [name, exampleValues[name]!])),
        ports: ports.map((port) => Number(port.split(':').at(-1))),
        probes: probe === null ? [] : [{ path: probe[2]!, port: Number(probe[1]) }],
      };
    });
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: ManifestSpec;
}

interface ManifestSpec {
  readonly template?: PodTemplate;
  readonly podSelector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly unknown[];
  };
  readonly policyTypes?: readonly string[];
  readonly ingress?: readonly object[];
}

interface PodTemplate {
  readonly metadata?: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: Pod;
}

interface Pod {
  readonly automountServiceAccountToken?: boolean;
  readonly serviceAccountName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly seccompProfile?: { readonly type: string };
  };
  readonly initContainers?: readonly KubernetesContainer[];
  readonly containers: readonly KubernetesContainer[];
  readonly volumes?: readonly object[];
}

interface KubernetesContainer {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly envFrom?: readonly { readonly secretRef?: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: {
    readonly privileged?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  };
  readonly resources?: {
    readonly requests?: { readonly cpu?: string; readonly memory?: string };
    readonly limits?: { readonly memory?: string };
  };
  readonly [probe: `${string}Probe`]:
    | { readonly httpGet: { readonly path: string; readonly port: string } }
    | undefined;
}

const manifests = parseAllDocuments(readFile('deploy/kubernetes.yaml')).map((one) => one.toJS() as Manifest);
const templates = manifests.flatMap(({ spec }) => spec?.template ?? []);
const containersOf = ({ initContainers = [], containers }: Pod) => [...initContainers, ...containers];

/** The containers of the program; another command waits beside the first key. */
function kubernetesContainers(): Container[] {
  const secrets = new Map(manifests.map(({ metadata: { name }, stringData = {} }) => [name, stringData]));
  const ofProgram = templates.flatMap(({ spec }) => containersOf(spec)).filter(({ command }) => command === undefined);
  return ofProgram.map((container) => {
    const { args = [], ports = [], envFrom = [] } = container;
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const;
    return {
      command: args,
      environment: Object.assign({}, ...envFrom.map(({ secretRef }) => secrets.get(secretRef?.name ?? ''))),
      ports: ports.map(({ containerPort }) => containerPort),
      probes: probes.flatMap((name) => {
        const get = container[name]?.httpGet;
        const port = ports.find((one) => one.name === get?.port)?.containerPort;
        return get === undefined ? [] : [{ path: get.path, port }];
      }),
    };
  });
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

/** The end of a server that starts with one variable. Its database does not exist. */
function refusal(name: string, value: string): { status: number | null; stderr: string } {
  const env = { PATH: process.env.PATH, XDG_DATA_HOME: newFolder(), XDG_CONFIG_HOME: newFolder(), [name]: value };
  const args = [PROGRAM, 'serve', '--port', '0', '--store', 'postgres://127.0.0.1:1/none'];
  return spawnSync(process.execPath, args, { encoding: 'utf8', env });
}

/** The secrets that each role needs. `api` opens agents, to check arguments that a user has changed. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  api: ['OPENAI_API_KEY', 'PGPASSWORD', 'REDISCLI_AUTH', 'TOOLSCRIPT_SUSPENSION_KEY'],
  worker: ['OPENAI_API_KEY', 'PGPASSWORD', 'REDISCLI_AUTH', 'TOOLSCRIPT_SUSPENSION_KEY'],
  persistence: ['PGPASSWORD', 'REDISCLI_AUTH'],
  add: ['PGPASSWORD'],
};

const roleOf = (command: readonly string[]) => command[command[0] === 'keys' ? 1 : command.indexOf('--role') + 1]!;

describe.each([
  ['compose.yaml', composeContainers],
  ['kubernetes.yaml', kubernetesContainers],
])('deploy/%s', (_name, containers) => {
  it('names only options, variables, ports and paths that the program has', () => {
    const found = containers();
    expect(found.length).toBeGreaterThan(3);
    const known = new Map<string, readonly string[]>();
    for (const { command, ports, probes } of found) {
      const subcommand = command[0]!;
      if (!known.has(subcommand)) known.set(subcommand, optionsOf(command));
      const options = command.filter((word) => word.startsWith('--'));
      expect(options.filter((option) => !known.get(subcommand)!.includes(option))).toEqual([]);
      const port = Number(command[command.indexOf('--port') + 1]);
      for (const one of [...ports, ...probes.map((probe) => probe.port)]) expect(one).toBe(port);
      for (const { path } of probes) expect(['/healthz', '/readyz']).toContain(path);
    }
  });

  it('gives each container only the secrets that it needs, and the program refuses their example values', () => {
    const found = containers();
    expect(found.length).toBeGreaterThan(3);
    for (const { command, environment } of found) {
      expect(Object.keys(environment).toSorted(), command.join(' ')).toEqual(SECRETS[roleOf(command)]);
      for (const [name, value] of Object.entries(environment)) {
        const { status, stderr } = refusal(name, value);
        expect([status, stderr]).toEqual([2, expect.stringMatching(new RegExp(`^toolscript: ${name} [^\n]+\n$`, 'u'))]);
      }
    }
  });

  it('writes the first key to a file, and not to the log', () => {
    const found = containers().filter(({ command }) => command[0] === 'keys');
    expect(found.map(({ command }) => command.at(command.indexOf('--output') + 1))).toEqual(['/key/first']);
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

/** The rules of kube-linter and of the restricted Pod Security Standard that concern these files. */
const POD_RULES: Readonly<Record<string, (pod: Pod, container: KubernetesContainer) => boolean>> = {
  'run-as-non-root': ({ securityContext }) =>
    securityContext?.runAsNonRoot === true && (securityContext.runAsUser ?? 0) > 0,
  'no-read-only-root-fs': (_pod, { securityContext }) => securityContext?.readOnlyRootFilesystem === true,
  'privilege-escalation-container': (_pod, { securityContext }) => securityContext?.allowPrivilegeEscalation === false,
  'privileged-container': (_pod, { securityContext }) => securityContext?.privileged !== true,
  'drop-all-capabilities': (_pod, { securityContext }) =>
    securityContext?.capabilities?.drop?.includes('ALL') === true && securityContext.capabilities.add === undefined,
  'seccomp-runtime-default': ({ securityContext }) => securityContext?.seccompProfile?.type === 'RuntimeDefault',
  'no-service-account-token': ({ automountServiceAccountToken }) => automountServiceAccountToken === false,
  'default-service-account': ({ serviceAccountName }) => serviceAccountName === 'toolscript',
  'host-namespaces': ({ hostNetwork, hostPID, hostIPC }) => !(hostNetwork ?? hostPID ?? hostIPC ?? false),
  'host-mounts': ({ volumes = [] }) => volumes.every((volume) => !('hostPath' in volume)),
  'latest-tag': (_pod, { image }) => /:\d[\w.-]*$/u.test(image),
  'unset-cpu-requirements': (_pod, { resources }) => resources?.requests?.cpu !== undefined,
  'unset-memory-requirements': (_pod, { resources }) =>
    resources?.requests?.memory !== undefined && resources.limits?.memory !== undefined,
};

const WORST_CONTAINER: KubernetesContainer = {
  image: 'toolscript:latest',
  securityContext: { privileged: true, capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } },
};
const WORST_POD: Pod = { containers: [WORST_CONTAINER], hostPID: true, volumes: [{ name: 'all', hostPath: {} }] };

function brokenRules(pod: Pod): string[] {
  return Object.entries(POD_RULES).flatMap(([rule, holds]) =>
    containersOf(pod).every((container) => holds(pod, container)) ? [] : [rule],
  );
}

describe('the pods of deploy/kubernetes.yaml', () => {
  it('keep each rule', () => {
    expect(brokenRules(WORST_POD)).toEqual(Object.keys(POD_RULES));
    expect(templates.length).toBe(4);
    for (const { spec } of templates) expect(brokenRules(spec)).toEqual([]);
  });

  it('are isolated by a network policy, which lets nothing in', () => {
    const all = manifests.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec!);
    const isolating = all.find(({ podSelector }) => podSelector?.matchExpressions === undefined);
    expect(isolating).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
    expect(isolating!.ingress).toBeUndefined();
    const { matchLabels = {} } = isolating!.podSelector!;
    expect(Object.keys(matchLabels)).toEqual(['app']);
    for (const { metadata } of templates) expect(metadata?.labels).toMatchObject(matchLabels);
  });
});

/** The rules of the CIS Docker Benchmark that concern this file. */
const SERVICE_RULES: Readonly<Record<string, (service: ComposeService) => boolean>> = {
  'read-only-root': ({ read_only }) => read_only === true,
  'no-capabilities': ({ cap_drop }) => cap_drop?.includes('ALL') === true,
  'no-new-privileges': ({ security_opt }) => security_opt?.includes('no-new-privileges:true') === true,
  'not-privileged': ({ privileged }) => privileged !== true,
  'no-host-network': ({ network_mode, networks = [] }) => network_mode === undefined && networks.length > 0,
  'limited-processes': ({ pids_limit = 0 }) => pids_limit > 0,
  'named-version': ({ image = '' }) => /:\d[\w.-]*$/u.test(image),
  'no-docker-socket': ({ volumes = [] }) => volumes.every((volume) => !volume.includes('docker.sock')),
  'ports-of-this-machine': ({ ports = [] }) => ports.every((port) => port.startsWith('127.0.0.1:')),
  'no-shared-secrets-file': ({ env_file }) => env_file === undefined,
};

const WORST_SERVICE: ComposeService = {
  image: 'toolscript',
  privileged: true,
  network_mode: 'host',
  volumes: ['/var/run/docker.sock:/var/run/docker.sock'],
  ports: ['4319:4319'],
  env_file: 'secrets.env',
};

const brokenServiceRules = (service: ComposeService) =>
  Object.entries(SERVICE_RULES).flatMap(([rule, holds]) => (holds(service) ? [] : [rule]));

/** Docker with its plugin for Compose. The command needs no daemon. */
const composed = spawnSync(
  'docker',
  ['compose', '--file', join(root, 'deploy/compose.yaml'), '--profile', 'setup', 'config', '--format', 'json'],
  { encoding: 'utf8', env: { ...process.env, ...exampleValues } },
);
const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;
if (!hasCompose) console.warn('Skipped: "docker compose config", because Docker Compose is not installed.');

describe('the services of deploy/compose.yaml', () => {
  it('keep each rule', () => {
    expect(brokenServiceRules(WORST_SERVICE)).toEqual(Object.keys(SERVICE_RULES));
    expect(Object.keys(compose.services)).toHaveLength(6);
    for (const [name, service] of Object.entries(compose.services))
      expect(brokenServiceRules(service), name).toEqual([]);
  });

  it('reach the databases over a network without a way out, and only the servers that need it have another', () => {
    expect(compose.networks['stores']).toEqual({ internal: true });
    const outside = Object.entries(compose.services).filter(([, { networks = [] }]) => networks.includes('outside'));
    expect(outside.map(([name]) => name)).toEqual(['api', 'worker']);
  });

  it.skipIf(!hasCompose)('are valid for Docker Compose', () => {
    expect([composed.status, composed.stderr]).toEqual([0, '']);
    expect(Object.keys((JSON.parse(composed.stdout) as typeof compose).services).toSorted()).toEqual(
      Object.keys(compose.services).toSorted(),
    );
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
