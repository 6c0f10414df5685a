import type { McpServers } from '@toolscript/mcp';
import { createCompiler, QuickJsPool } from '@toolscript/core/internal';
import { present } from '@toolscript/core/internal';
import { createServer, demoAgent, fixedAgents, type AgentDirectory, type ServerRole } from '@toolscript/server';
import { joinKeys, KeyFolder, type ApiKeyStore } from '@toolscript/server/access';
import { imageLoader } from '../harness/image-loader.js';
import { sharedEngines } from '../harness/engines.js';
import type { Cabinet } from '../harness/exposure.js';
import { modelConnections } from '../configuration/model-connections.js';
import { loadSettings, type Settings } from '../configuration/settings.js';
import { RuleFolder } from '../approvals/workspace-rules.js';
import { userFolder } from '../configuration/locations.js';
import { pageFolder } from '../page-folder.js';
import { openStateFor, type PersistentState } from '../state/persistent-state.js';
import { openServiceAudit } from '../state/service-audit.js';
import { visibleLine } from '../terminal/untrusted.js';
import { internalNotice } from '../usage-error.js';
import { openUndo } from '../undo/open-undo.js';
import { AgentFolder } from './agent-folder.js';
import { ServedServers } from './served-servers.js';
import { openStorage, type Storage, type StorageFlags } from './open-storage.js';
import { rememberedRules } from './remembered-rules.js';
import { serverLog, type LogFlags } from './server-log.js';
import { serverAccess, type AccessFlags } from './server-access.js';
import { obtainServerToken, whereTokenIs } from './server-token.js';

export interface ServiceFlags extends AccessFlags, LogFlags, StorageFlags {
  /** The folder of the coding tools. Without it, the server offers only the demo agent. */
  workspace?: string | undefined;
  workers?: number | undefined;
  /** The maximum number of concurrent runs of one principal. */
  runsPerPrincipal?: number | undefined;
  /** The roles of this process. Default: all roles. */
  roles?: readonly ServerRole[] | undefined;
}

type App = Awaited<ReturnType<typeof createServer>>;

export interface OpenService {
  readonly app: App;
  readonly token: string;
  /** Describes where the user finds the token. */
  readonly tokenPlace: string;
  /** The lines that tell the user about the service. */
  readonly about: readonly string[];
  /** Drains the service, and closes everything that it has opened. */
  close(): Promise<void>;
}

/** Opens the service with the user's own data folder. Throws UsageErrors. */
export async function openService(flags: ServiceFlags, warn: (message: string) => void): Promise<OpenService> {
  const settings = await loadSettings(flags.workspace === undefined ? {} : { cwd: flags.workspace }, process.env, warn);
  const workspace = flags.workspace === undefined ? '' : settings.cwd;
  const database = await openStorage(flags, process.env);
  const kept = openStateFor(process.env, { workspace, command: 'chat', options: [] }, database.scripts);
  const token = obtainServerToken(kept.folder.tokenFile, process.env);
  const auth = await serverAccess(flags, serverKeys(database, kept), token);
  const audit = openServiceAudit(database.audit, process.env, warn);
  const parts = {
    kept,
    audit: audit.append,
    cabinet: { documents: database.stores.documents },
    onInternalError: (detail: string) => warn(internalNotice(detail)),
  };
  const mcp = await ServedServers.open(settings, workspace !== '', warn);
  const rules = new RuleFolder(userFolder(process.env), settings.cwd);
  const agents = await openAgents(settings, { ...parts, servers: mcp.servers, rules }, workspace !== '', warn);
  const undoing = await openUndoing(settings, { ...parts, engines: sharedEngines(agents.engines) }, workspace !== '');
  const page = pageFolder();
  const { suggestRules } = await import('@toolscript/tools');
  const app = await createServer({
    stores: database.stores,
    events: database.log,
    scripts: kept.store,
    agents: agents.directory,
    sandbox: agents.engines.runtime,
    mcp: await mcp.endpoint({ ...parts, engines: sharedEngines(agents.engines) }),
    auth,
    audit,
    workspace,
    ...(workspace === '' ? {} : { rules: rememberedRules(rules, settings, suggestRules, warn) }),
    models: modelConnections(process.env),
    ...(undoing === undefined ? {} : { undo: undoing.undo }),
    ...serverLog(flags, process.env),
    ...(page === undefined ? {} : { page }),
    ...present({ workers: flags.workers, roles: flags.roles }),
    limits: present({ runsPerPrincipal: flags.runsPerPrincipal }),
  });
  const close = async () => {
    await app.close();
    await mcp.close();
    await undoing?.close();
    await agents.close();
    await audit.close();
    await database.close();
  };
  const tokenPlace = whereTokenIs(kept.folder.tokenFile, process.env);
  return { app, token, tokenPlace, about: await aboutService(agents.directory, workspace, flags.roles), close };
}

/** Opens the undo of scripts. Returns undefined without a workspace, because no script can then change files. */
async function openUndoing(settings: Settings, parts: Parameters<typeof openUndo>[1], hasWorkspace: boolean) {
  return hasWorkspace ? openUndo(settings, parts) : undefined;
}

/** The API keys of the database and those of the data folder, which stay valid on this machine. */
function serverKeys({ keys }: Storage, { folder }: PersistentState): ApiKeyStore {
  const own = new KeyFolder(folder.keysFolder);
  return keys === undefined ? own : joinKeys([keys, own]);
}

async function aboutService(
  directory: AgentDirectory,
  workspace: string,
  roles: ServiceFlags['roles'],
): Promise<string[]> {
  if (roles?.includes('api') === false)
    return [
      `This process has the role ${roles.join(', ')}. Only /healthz, /readyz and /metrics answer. Ctrl-C ends it.`,
    ];
  const { slug } = (await directory.find())!.config;
  const agent =
    slug === 'demo'
      ? 'The agent is "demo", a scripted model. A real model needs a workspace and an API key. To list the keys: toolscript doctor'
      : `The agent is "${slug}". GET /api/v2/agents lists the others.`;
  const folder =
    workspace === ''
      ? 'There is no workspace, so only the demo is available. Name one with --workspace DIR.'
      : `Tools work in ${visibleLine(workspace)}.`;
  return [
    agent,
    folder,
    'Open the address in a browser. The API is described at /openapi.json. Ctrl-C ends the server.',
  ];
}

interface Parts {
  readonly kept: PersistentState;
  readonly audit: ReturnType<typeof openServiceAudit>['append'];
  readonly onInternalError: (detail: string) => void;
  readonly cabinet: Cabinet;
  readonly servers: McpServers | undefined;
  readonly rules: RuleFolder;
}

async function openAgents(settings: Settings, parts: Parts, hasWorkspace: boolean, warn: (message: string) => void) {
  const { codingTools } = await import('@toolscript/tools');
  const [runtime, compiler] = [new QuickJsPool(), createCompiler()];
  const closeEngines = async () => void (await Promise.all([runtime.close(), compiler.close()]));
  const engines = { runtime, compiler, close: closeEngines };
  const { kept, audit, onInternalError, servers, rules } = parts;
  const durable = {
    store: kept.store,
    suspensionKey: kept.suspensionKey,
    audit,
    onInternalError,
  };
  const reading = hasWorkspace
    ? codingTools({ roots: settings.cwd, exec: settings.exec }).filter(({ effect }) => effect === 'read')
    : [];
  const demo = demoAgent({ runtime, compiler, ...durable }, reading);
  if (!hasWorkspace) {
    return { directory: fixedAgents([demo]), engines, close: async () => (await demo.close(), closeEngines()) };
  }
  const directory = new AgentFolder({
    settings,
    engines,
    parts,
    demo,
    servers,
    rules,
    loadImage: await imageLoader(settings.cwd, () => servers),
    warn,
  });
  return {
    directory,
    engines,
    close: async () => {
      await directory.close();
      await demo.close();
      await closeEngines();
    },
  };
}
