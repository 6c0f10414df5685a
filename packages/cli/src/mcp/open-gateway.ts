import { QuickJsPool, createCompiler, type Defined } from '@toolscript/core/internal';
import type { Harness } from '@toolscript/core';
import type { Gateway, GatewayOffer } from '@toolscript/mcp';
import { RuleFolder, WorkspaceRules } from '../approvals/workspace-rules.js';
import { userFolder } from '../configuration/locations.js';
import { gatewayPolicy } from '../approvals/approvals.js';
import { loadSettings, type Settings } from '../configuration/settings.js';
import { openHarness, type HarnessSettings } from '../harness/open-harness.js';
import { imageLoader } from '../harness/image-loader.js';
import { openAudit, openStateFor, pruneDaily, type PersistentState } from '../state/persistent-state.js';
import { ownCommand } from '../terminal/own-command.js';
import { internalNotice } from '../usage-error.js';
import { ClientFolders } from './client-folders.js';
import { currentWorkspace } from './current-workspace.js';
import { GatewayRefresh } from './gateway-refresh.js';
import { GatewayServers } from './gateway-servers.js';
import { demandShallow } from './server-environment.js';
import { openServers } from './open-servers.js';
import { StoredOffer } from './stored-offer.js';

export interface GatewayFlags {
  /** The path of an mcp.json that replaces the user's and the workspace's files. */
  config?: string | undefined;
  cwd?: string | undefined;
  /** `coding` gives scripts the tools for work on a folder. */
  tools?: 'coding' | undefined;
  approve?: Settings['approve'] | undefined;
}

export interface OpenGateway {
  readonly gateway: Gateway;
  close(): Promise<void>;
}

/** Maximum JSON bytes of a script's value, unless the user sets the limit: a client reads a large value in parts. */
const MAX_RETURN_BYTES = 4 * 1024 * 1024;

/**
 * Opens the gateway that the flags describe, with the user's data folder. `warn` is called for problems that the user
 * should know about. Throws UsageErrors.
 */
export async function openGateway(flags: GatewayFlags, warn: (message: string) => void): Promise<OpenGateway> {
  demandShallow(process.env);
  const settings = await gatewaySettings(flags, warn);
  return openGatewayWith(settings, { coding: flags.tools === 'coding', followsRoots: flags.cwd === undefined, warn });
}

async function openGatewayWith(
  settings: Settings,
  { warn, ...options }: Pick<GatewayParts, 'coding' | 'followsRoots' | 'warn'>,
): Promise<OpenGateway> {
  const audit = openAudit(process.env);
  const stored = await StoredOffer.of(settings, options.coding);
  const offer = await stored.read();
  const refresh = new GatewayRefresh(stored, warn);
  const { request: onTools } = refresh;
  const ignored: string[] = [];
  const servers = new GatewayServers(() =>
    openServers(settings, {
      environment: process.env,
      waitMs: 0,
      startsLater: true,
      warn,
      onIgnored: (reason) => void ignored.push(reason),
      onTools,
    }),
  );
  // The servers start while the harness is opened and the client is answered.
  if (offer === undefined) servers.open().catch(() => {});
  const engines = gatewayEngines();
  const onInternalError = (detail: string) => warn(internalNotice(detail));
  const parts = {
    ...options,
    servers,
    offer,
    ignored,
    audit: audit.append,
    refresh,
    engines,
    onInternalError,
    warn,
  };
  const { gateway, harness, kept } = await makeGateway(settings, parts);
  const close = async () => {
    await refresh.stop();
    await harness.close();
    await servers.close();
    await pruneDaily(kept);
    audit.close();
  };
  return { gateway, close };
}

export interface GatewayParts extends Defined<Pick<HarnessSettings, 'audit' | 'engines' | 'onInternalError'>> {
  readonly servers: GatewayServers;
  /** The texts that the gateway shows until tools are first needed. Default: the servers are opened first. */
  readonly offer?: GatewayOffer | undefined;
  readonly refresh: GatewayRefresh;
  /** The reasons why configured servers are not used. */
  readonly ignored?: readonly string[] | undefined;
  /** Whether scripts get the tools for work on a folder. */
  readonly coding: boolean;
  /** Whether the tools for work on a folder move to the folders of the client. */
  readonly followsRoots: boolean;
  readonly warn: (message: string) => void;
}

/** Creates a gateway for opened servers. Its scripts are stored with those of the other commands. */
export async function makeGateway(
  settings: Settings,
  { servers, offer, refresh, ignored = [], coding, followsRoots, warn, ...parts }: GatewayParts,
): Promise<{ gateway: Gateway; harness: Harness; kept: PersistentState }> {
  const { createGateway } = await import('@toolscript/mcp');
  const options = settings.mcpConfig === undefined ? [] : ['--mcp-config', settings.mcpConfig];
  const kept = openStateFor(process.env, { workspace: settings.cwd, command: 'mcp', options });
  const folder = new RuleFolder(userFolder(process.env), settings.cwd);
  const remembered = await folder.list(warn);
  const rules = new WorkspaceRules(
    settings.rules,
    remembered.flatMap((one) => one.rules),
    folder,
  );
  const approvals = gatewayPolicy(settings, rules);
  const scripts = settings.runtime === 'quickjs' ? 'one-program' : 'separate';
  const limits = { maxReturnBytes: MAX_RETURN_BYTES, ...settings.limits };
  const own = { ...parts, approvals, kept, coding, scripts } as const;
  const { harness, attachable, tools, suggestRules } = await openHarness({ ...settings, limits }, own);
  rules.know(tools, suggestRules);
  servers.attachTo(attachable);
  if (offer === undefined) await servers.open();
  const folders = new ClientFolders(harness, settings, { warn, onTools: refresh.request });
  const gateway = createGateway({
    harness,
    howToDecide,
    suggestRule: (call) => {
      const [rule] = rules.suggest(call);
      return rule && { covers: `${rule.covers} in this folder`, add: () => rules.remember(rule) };
    },
    notices: (options) => [...ignored, ...(servers.opened?.notices(options) ?? [])],
    ready: async () => {
      await servers.ready();
      refresh.follow(gateway, servers);
    },
    offer,
    loadImage: await imageLoader(settings.cwd, () => servers.opened),
    ...(coding && followsRoots ? { onRoots: (roots: readonly string[]) => folders.use(roots) } : {}),
  });
  if (offer === undefined) refresh.follow(gateway, servers);
  return { gateway, harness, kept };
}

function gatewayEngines() {
  const [runtime, compiler] = [new QuickJsPool(), createCompiler()];
  return { runtime, compiler, close: async () => void (await Promise.all([runtime.close(), compiler.close()])) };
}

/** The exact commands, for the user of a client that cannot ask questions. */
function howToDecide(scriptId: string): string {
  const command = `${ownCommand()} approvals`;
  return `in a terminal, \`${command} show ${scriptId}\` shows the calls, and \`${command} approve ${scriptId}\` or \`${command} deny ${scriptId}\` decides`;
}

/**
 * The settings of the gateway. They expose every tool that the workspace does not exclude, whatever the user's
 * configuration exposes.
 */
async function gatewaySettings(flags: GatewayFlags, warn: (message: string) => void): Promise<Settings> {
  const { config, approve } = flags;
  const cwd = flags.cwd ?? (await currentWorkspace(process.env, { isNeeded: flags.tools === 'coding', warn }));
  const more = {
    ...(config === undefined ? {} : { mcpConfig: config }),
    ...(approve === undefined ? {} : { approve }),
  };
  return { ...(await loadSettings({ cwd, ...more }, process.env, warn)), expose: {} };
}
