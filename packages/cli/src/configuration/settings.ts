import { join, resolve } from 'node:path';
import {
  AGENT_LIMITS,
  LimitChangesSchema,
  LimitsSchema,
  type ApprovalRule,
  type HarnessMode,
  type Limits,
} from '@toolscript/core/protocol';
import { present } from '@toolscript/core/internal';
import { didYouMean, nearestName } from '../nearest-name.js';
import { shellWord } from '../terminal/own-command.js';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { APPROVE_CHOICES, MODE_CHOICES, type EXEC_SANDBOX_CHOICES, type NOTIFY_CHOICES } from './choices.js';
import { isThere, readJsonFile } from './json-files.js';
import { WORKSPACE_FILE, userFolder, type UserFolder } from './locations.js';
import { readCodeFile } from './read-code.js';
import {
  ConfigurationSchema,
  checkConfiguration,
  type Configuration,
  type Hook,
  type Hooks,
  type WorkspaceConfiguration,
} from './schema.js';
import { isTrusted, trustedFiles } from './trust.js';
import { readWorkspaceConfiguration } from './workspace-configuration.js';
import { demandOutside, demandOwnFoldersOutside, workspaceFolder } from './workspace-folder.js';

export type Approve = (typeof APPROVE_CHOICES)[number];

/** The settings that the command line names. */
export interface SettingFlags {
  cwd?: string | undefined;
  approve?: Approve | undefined;
  mode?: HarnessMode | undefined;
  runtime?: 'quickjs' | 'isolated-vm' | undefined;
  pack?: string | undefined;
  tools?: string[] | undefined;
  limit?: string[] | undefined;
  execSandbox?: ExecSettings['sandbox'] | undefined;
  notify?: Settings['notify'] | undefined;
  agent?: string | undefined;
  mcpConfig?: string | undefined;
}

interface ExecSettings {
  sandbox: (typeof EXEC_SANDBOX_CHOICES)[number];
  network?: { allow: string[] } | undefined;
}

/** The effective settings for one run of the program. */
export interface Settings {
  /** The real path of the workspace. */
  cwd: string;
  approve: Approve;
  /** The user's own rules. */
  rules: readonly ApprovalRule[];
  /** Undefined: no argument is guarded. */
  flow?: 'destinations' | undefined;
  mode: HarnessMode;
  runtime: 'quickjs' | 'isolated-vm';
  limits: Partial<Limits>;
  exec: ExecSettings;
  /** The web tools' own settings; undefined if there are none. */
  web?: NonNullable<Configuration['web']> | undefined;
  /** The signal when a run waits for the user. */
  notify: (typeof NOTIFY_CHOICES)[number];
  /** The commands at events: the user's own, then those of a trusted workspace. */
  hooks: Readonly<Record<keyof Hooks, readonly (Hook & { readonly tools?: readonly string[] | undefined })[]>>;
  expose: { pack?: string | undefined; tools?: string[] | undefined };
  packs: NonNullable<Configuration['packs']>;
  /** The named agent; undefined if none was named. */
  agent: string | undefined;
  models: NonNullable<Configuration['models']>;
  /**
   * Whether the command line or the environment names these settings, which then take precedence over an agent's
   * settings.
   */
  named: { agent: boolean; mode: boolean; exposure: boolean };
  /** The file with the MCP servers, which replaces the files of the user and of the workspace. */
  mcpConfig?: string | undefined;
  /** The only tools that the workspace exposes; undefined if it does not restrict them, or if the command line does. */
  workspaceTools?: string[] | undefined;
  /** The sources of the settings, in order of precedence. */
  sources: string[];
}

const NO_HOOKS: Settings['hooks'] = { beforeCall: [], afterScript: [], atEnd: [] };

/** Settings without any configuration. They deny every call that needs an approval. */
export function plainSettings(cwd: string): Settings {
  return {
    cwd,
    approve: 'deny',
    rules: [],
    mode: 'enabled',
    runtime: 'quickjs',
    limits: {},
    exec: { sandbox: 'on' },
    notify: 'off',
    hooks: NO_HOOKS,
    expose: {},
    packs: {},
    agent: undefined,
    models: {},
    named: { agent: false, mode: false, exposure: false },
    sources: [],
  };
}

const ENVIRONMENT_NAMES = [
  'TOOLSCRIPT_APPROVE',
  'TOOLSCRIPT_MODE',
  'TOOLSCRIPT_AGENT',
  'TOOLSCRIPT_TOKEN',
  'TOOLSCRIPT_SUSPENSION_KEY',
  'TOOLSCRIPT_MCP_DEPTH',
];

/**
 * The effective settings. Precedence: command line, environment, the workspace's file if it narrows and is trusted, the
 * user's own file, the defaults. `warn` is called for ignored settings.
 */
export async function loadSettings(
  flags: SettingFlags,
  environment: Environment,
  warn: (message: string) => void,
): Promise<Settings> {
  const cwd = await workspaceFolder(flags.cwd);
  demandOwnFoldersOutside(cwd, environment);
  const user = userFolder(environment);
  const found = await readOwn(user, cwd);
  const own = found?.configuration;
  const fromEnvironment = readEnvironment(environment, warn);
  const workspace = await readWorkspace(user, cwd, warn);
  const runtime = flags.runtime ?? own?.runtime ?? 'quickjs';
  const ownLimits = { ...AGENT_LIMITS, ...present(own?.limits ?? {}) };
  const narrowed = narrowLimits(ownLimits, present(workspace?.limits ?? {}));
  for (const name of narrowed.wider)
    warn(
      `${WORKSPACE_FILE}: "limits.${name}" would widen the current limit, so it is ignored. Lower this value, or raise the limit in your own configuration.`,
    );
  const namesTools = flags.pack !== undefined || flags.tools !== undefined;
  const workspaceTools = namesTools ? undefined : workspace?.expose?.tools;
  return {
    cwd,
    approve: flags.approve ?? fromEnvironment.approve ?? own?.approve ?? 'ask',
    rules: own?.rules ?? [],
    ...(own?.flow === undefined ? {} : { flow: own.flow }),
    mode: flags.mode ?? fromEnvironment.mode ?? own?.mode ?? 'enabled',
    runtime,
    limits: { ...ownLimits, ...narrowed.limits, ...parseLimits(flags.limit ?? []) },
    exec: execSettings(flags, own),
    ...(own?.web === undefined ? {} : { web: own.web }),
    notify: flags.notify ?? own?.notify ?? 'off',
    hooks: bothHooks(own?.hooks, workspace?.hooks),
    expose: namesTools ? exposure(flags) : exposure(own?.expose ?? {}),
    packs: own?.packs ?? {},
    agent: flags.agent ?? fromEnvironment.agent ?? own?.agent,
    models: own?.models ?? {},
    named: {
      agent: (flags.agent ?? fromEnvironment.agent) !== undefined,
      mode: (flags.mode ?? fromEnvironment.mode) !== undefined,
      exposure: namesTools,
    },
    ...(workspaceTools === undefined ? {} : { workspaceTools }),
    ...(flags.mcpConfig === undefined ? {} : { mcpConfig: resolve(flags.mcpConfig) }),
    sources: [
      ...(Object.keys(fromEnvironment).length === 0 ? [] : ['environment']),
      ...(workspace === undefined ? [] : [join(cwd, WORKSPACE_FILE)]),
      ...(found === undefined ? [] : [found.file]),
      'defaults',
    ],
  };
}

function execSettings({ execSandbox }: SettingFlags, own: Configuration | undefined): ExecSettings {
  const network = own?.exec?.network;
  return { sandbox: execSandbox ?? own?.exec?.sandbox ?? 'on', ...(network === undefined ? {} : { network }) };
}

function exposure({ pack, tools }: { pack?: string | undefined; tools?: string[] | undefined }): Settings['expose'] {
  return { ...(pack === undefined ? {} : { pack }), ...(tools === undefined ? {} : { tools }) };
}

async function readOwn(
  user: UserFolder,
  cwd: string,
): Promise<{ file: string; configuration: Configuration } | undefined> {
  const isCode = await isThere(user.configCodeFile);
  if (isCode && (await isThere(user.configFile))) {
    throw new UsageError(
      `Both ${visibleLine(user.configFile)} and ${visibleLine(user.configCodeFile)} exist. Remove one of them.`,
    );
  }
  const file = isCode ? user.configCodeFile : user.configFile;
  demandOutside(file, cwd);
  const value = isCode ? await readCodeFile(file) : await readJsonFile(file);
  if (value === undefined) return undefined;
  return { file, configuration: checkConfiguration(ConfigurationSchema, value, visibleLine(file)) };
}

async function readWorkspace(
  user: UserFolder,
  cwd: string,
  warn: (message: string) => void,
): Promise<WorkspaceConfiguration | undefined> {
  const file = join(cwd, WORKSPACE_FILE);
  if (!(await isThere(file))) return undefined;
  // defence: workspace-file-needs-trust
  const counts = await isTrusted(user, cwd);
  if (!counts) {
    warn(
      `${visibleLine(file)} is ignored, because you have not trusted the workspace. To trust it: toolscript trust ${shellWord(cwd)}`,
    );
    return undefined;
  }
  const found = await readWorkspaceConfiguration(cwd);
  if (found?.configuration.hooks === undefined) return found?.configuration;
  const { hooks: trusted } = await trustedFiles(user, cwd);
  // defence: workspace-hooks-need-trust
  const areTrusted = trusted === found.sha256;
  if (areTrusted) return found.configuration;
  const why = trusted === undefined ? 'you have not trusted them' : 'the file has changed since you trusted them';
  warn(
    `The hooks of ${visibleLine(file)} are ignored, because ${why}. Read them; to trust them: toolscript trust ${shellWord(cwd)}`,
  );
  return { ...found.configuration, hooks: undefined };
}

function bothHooks(own: Hooks | undefined, theirs: Hooks | undefined): Settings['hooks'] {
  const joined = <Event extends keyof Hooks>(event: Event) => [
    ...(own?.[event] ?? []),
    ...(theirs?.[event] ?? []).map((hook) => ({ ...hook, isOfWorkspace: true as const })),
  ];
  return { beforeCall: joined('beforeCall'), afterScript: joined('afterScript'), atEnd: joined('atEnd') };
}

function readEnvironment(
  environment: Environment,
  warn: (message: string) => void,
): { approve?: Approve | undefined; mode?: HarnessMode | undefined; agent?: string | undefined } {
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('TOOLSCRIPT_') || ENVIRONMENT_NAMES.includes(name)) continue;
    const nearest = nearestName(name, ENVIRONMENT_NAMES);
    if (nearest !== undefined)
      warn(`The environment variable ${visibleLine(name)} is not a setting. Did you mean ${nearest}?`);
  }
  const approve = choice(environment, 'TOOLSCRIPT_APPROVE', APPROVE_CHOICES);
  const mode = choice(environment, 'TOOLSCRIPT_MODE', MODE_CHOICES);
  const agent = environment['TOOLSCRIPT_AGENT'];
  return {
    ...(approve === undefined ? {} : { approve }),
    ...(mode === undefined ? {} : { mode }),
    ...(agent === undefined || agent === '' ? {} : { agent }),
  };
}

function choice<Choice extends string>(
  environment: Environment,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = environment[name];
  if (value === undefined || value === '') return undefined;
  const found = choices.find((one) => one === value);
  if (found === undefined)
    throw new UsageError(`${name} is "${visibleLine(value)}". Set it to ${choices.join(', ')}, or unset it.`);
  return found;
}

/** Parses `NAME=VALUE` texts as limits. Throws a UsageError that names the mistake and the nearest name. */
function parseLimits(assignments: readonly string[]): Partial<Limits> {
  return Object.assign({}, ...assignments.map(parseLimit)) as Partial<Limits>;
}

/**
 * The requested limits that are no wider than those in force, and the names of the others. A smaller number is
 * narrower; false is narrower than true.
 */
export function narrowLimits(
  inForce: Partial<Limits>,
  requested: Partial<Limits>,
): { limits: Partial<Limits>; wider: string[] } {
  const defaults = LimitsSchema.parse({});
  const limits: Record<string, number | boolean> = {};
  const wider: string[] = [];
  for (const [name, value] of Object.entries(requested) as [keyof Limits, number | boolean][]) {
    const inForceValue = Number(inForce[name] ?? defaults[name]);
    // defence: limits-narrow
    const isNarrower = Number(value) <= inForceValue;
    if (isNarrower) limits[name] = value;
    else wider.push(name);
  }
  return { limits: limits as Partial<Limits>, wider };
}

function parseLimit(assignment: string): Partial<Limits> {
  const shown = visibleLine(assignment);
  const [, name, text] = /^([^=]+)=(.*)$/su.exec(assignment) ?? [];
  if (name === undefined || text === undefined)
    throw new UsageError(`--limit ${shown}: write it as NAME=VALUE, for example --limit timeoutMs=60000.`);
  const names = Object.keys(LimitsSchema.shape);
  if (!names.includes(name)) {
    throw new UsageError(
      `--limit ${shown}: there is no limit ${visibleLine(name)}.${didYouMean(name, names) || ` The limits are ${names.join(', ')}.`}`,
    );
  }
  const result = LimitChangesSchema.safeParse({ [name]: limitValue(text) });
  if (!result.success) {
    const usual = LimitsSchema.parse({})[name as keyof Limits];
    throw new UsageError(
      `--limit ${shown}: ${issueText(result.error.issues[0]?.message)}. A valid value: --limit ${name}=${usual}`,
    );
  }
  return { [name]: result.data[name as keyof Limits] };
}

function limitValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(?:\.\d+)?$/u.test(text) ? Number(text) : text;
}

function issueText(message = 'the value is not valid'): string {
  const text = message.replace(/^Invalid input: /u, '');
  return text.charAt(0).toLowerCase() + text.slice(1);
}
