import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { readFile, readdir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStore, pruneScripts } from '@toolscript/core';
import { obtainKeyFile, readKeyFile, writePrivateFile } from '@toolscript/core/internal';
import { isScriptId } from '@toolscript/core/internal';
import type { HeapStore } from '@toolscript/core/ports';
import type { HarnessStore, ServiceStores } from '@toolscript/core/protocol';
import { AuditFile } from '@toolscript/server/access';
import { z } from 'zod';
import { dataFolder, type DataFolder } from '../configuration/locations.js';
import { isThere } from '../configuration/json-files.js';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError, systemCode } from '../usage-error.js';

/** The data that outlives the process. Nothing is created before the first write. */
export interface PersistentState {
  readonly folder: DataFolder;
  readonly store: ScriptStore;
  readonly origins: OriginFolder;
  /** The secrets for suspended scripts. The first secret seals, and every secret opens. */
  readonly suspensionKey: () => SuspensionSecrets;
}

/** `origin` is the origin of the scripts to start. `scripts` is their store; default: files in the data folder. */
export function openState(environment: Environment, origin?: Origin, scripts?: HarnessStore): PersistentState {
  const folder = dataFolder(environment);
  const origins = new OriginFolder(folder.originsFolder);
  const changes = new ChangesFolder(folder.changesFolder);
  return {
    folder,
    origins,
    store: new ScriptStore(scripts ?? fileStore(folder.scriptsFolder), { origins, origin, changes }),
    suspensionKey: () => suspensionKeys(folder.keyFile, environment),
  };
}

/** Opens the state for the scripts of a workspace. Throws a UsageError for an unsafe key file, or an unsafe key. */
export function openStateFor(environment: Environment, origin: Origin, scripts?: HarnessStore): PersistentState {
  const kept = openState(environment, origin, scripts);
  environmentSecrets(environment);
  readKeyFile(kept.folder.keyFile, { name: visibleLine(kept.folder.keyFile) });
  return kept;
}

/** Opens the audit log, which records each decision, and each call with effects. */
export function openAudit(environment: Environment, path = dataFolder(environment).auditFile): AuditFile {
  const { TOOLSCRIPT_TOKEN: token = '' } = environment;
  const secrets = [token, ...environmentSecrets(environment)];
  return new AuditFile(path, { secrets });
}

type Claims = HarnessStore['claim'];
type Journals = HarnessStore['journal'];

interface ScriptStoreParts {
  readonly origins: OriginFolder;
  /** The origin of the scripts that this process starts. */
  readonly origin: Origin | undefined;
  /** The earlier versions of the files that scripts changed. They are deleted with their script. */
  readonly changes: ChangesFolder;
}

/**
 * The store of scripts. It records where each script was started, and knows which scripts this process has claimed.
 * After `leave`, it stores nothing more, as if the process had ended, so that an interrupted script can be recovered
 * later.
 */
class ScriptStore implements HarnessStore {
  readonly claim: Claims;
  readonly journal: Journals;
  readonly images: HarnessStore['images'];
  readonly heaps: HarnessStore['heaps'];
  readonly isFlushed: HarnessStore['isFlushed'];
  readonly probe: HarnessStore['probe'];
  readonly #heldScripts = new Map<string, number>();
  #isLeft = false;

  #origin: Origin | undefined;

  constructor(store: HarnessStore, { origins, origin, changes }: ScriptStoreParts) {
    this.#origin = origin;
    this.images = store.images;
    this.heaps = store.heaps;
    this.isFlushed = store.isFlushed;
    this.probe = store.probe?.bind(store);
    this.claim = {
      current: (scriptId) => store.claim.current(scriptId),
      take: async (scriptId, fromEpoch, options) => {
        this.#demandStaying();
        if (fromEpoch === 0 && this.#origin !== undefined) await origins.note(scriptId, this.#origin);
        const taken = await store.claim.take(scriptId, fromEpoch, options);
        if (taken !== undefined) this.#heldScripts.set(scriptId, taken.epoch);
        return taken;
      },
      renew: (scriptId, epoch) => store.claim.renew(scriptId, epoch),
      release: async (scriptId, epoch) => {
        if (this.#isLeft) return;
        if (this.#heldScripts.get(scriptId) === epoch) this.#heldScripts.delete(scriptId);
        await store.claim.release(scriptId, epoch);
      },
    };
    this.journal = {
      append: (scriptId, epoch, lines, options) => {
        this.#demandStaying();
        return store.journal.append(scriptId, epoch, lines, options);
      },
      read: (scriptId) => store.journal.read(scriptId),
      list: (query) => store.journal.list(query),
      delete: async (scriptId) => {
        await store.journal.delete(scriptId);
        await changes.delete(scriptId);
        await origins.delete(scriptId);
      },
    };
  }

  /** Sets the conversation of the scripts that are started from now on. */
  setThread(thread: string): void {
    if (this.#origin !== undefined) this.#origin = { ...this.#origin, thread };
  }

  /** The scripts that this process has claimed. */
  get heldScripts(): readonly string[] {
    return [...this.#heldScripts.keys()];
  }

  get isLeft(): boolean {
    return this.#isLeft;
  }

  leave(): void {
    this.#isLeft = true;
  }

  #demandStaying(): void {
    if (this.#isLeft)
      throw new Error(
        'The program is ending, so it stores no more data. To list the scripts that you can recover: toolscript approvals',
      );
  }
}

const OriginSchema = z.strictObject({
  /** The real path of the folder that the script's tools may access. */
  workspace: z.string(),
  /** The command that started the script. For `mcp`, a client of the gateway waits for the result. */
  command: z.enum(['run', 'eval', 'chat', 'mcp']),
  /** The conversation that the script belongs to. */
  thread: z.string().optional(),
  /** Options that a later command must repeat to get the same tools. */
  options: z.array(z.string()),
});

/** The circumstances of a script's start. */
export type Origin = z.infer<typeof OriginSchema>;

/** The folder in which to inspect a script: the script's workspace if it still exists, or else the current folder. */
export async function originFolder(origin: Origin | undefined): Promise<{ cwd?: string | undefined }> {
  return origin !== undefined && (await isThere(origin.workspace)) ? { cwd: origin.workspace } : {};
}

/** The files `origins/<script>.json`. Each is written before any other data of its script. */
class OriginFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async note(scriptId: string, origin: Origin): Promise<void> {
    await writePrivateFile(this.#file(scriptId), `${JSON.stringify(origin)}\n`);
  }

  /** The origin of a script; undefined if it is unknown. */
  async of(scriptId: string): Promise<Origin | undefined> {
    try {
      return OriginSchema.parse(JSON.parse(await readFile(this.#file(scriptId), 'utf8')));
    } catch {
      return undefined;
    }
  }

  /** Idempotent. */
  async delete(scriptId: string): Promise<void> {
    try {
      await unlink(this.#file(scriptId));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
  }

  #file(scriptId: string): string {
    return join(this.#path, `${scriptId}.json`);
  }
}

/** The folders `changes/<script>` with earlier versions of changed files, for undo. The file tools write them. */
export class ChangesFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Idempotent. */
  async delete(scriptId: string): Promise<void> {
    if (isScriptId(scriptId)) await rm(join(this.#path, scriptId), { recursive: true, force: true });
  }

  /** Deletes the folders of scripts that another process, on this or another machine, has deleted. */
  async deleteOrphans({ journal }: Pick<HarnessStore, 'journal'>): Promise<void> {
    const names = await readdir(this.#path).catch(() => [] as string[]);
    for (const name of names) if (isScriptId(name) && (await journal.read(name)) === undefined) await this.delete(name);
  }
}

const VARIABLE = 'TOOLSCRIPT_SUSPENSION_KEY';

const MIN_LENGTH = 32;

export type SuspensionSecrets = readonly (string | Uint8Array)[];

/**
 * The secrets for suspended scripts: the first secret seals, and every secret opens. TOOLSCRIPT_SUSPENSION_KEY may
 * contain several secrets, separated by commas, which precede that of the key file. The key file is created only if the
 * variable is unset. Throws a UsageError for an unsafe secret or key file.
 */
export function suspensionKeys(path: string, environment: Environment): SuspensionSecrets {
  const name = visibleLine(path);
  const secrets = environmentSecrets(environment);
  if (secrets.length === 0) return [obtainKeyFile(path, { name })];
  const stored = readKeyFile(path, { name });
  return stored === undefined ? secrets : [...secrets, stored];
}

/** The secrets in TOOLSCRIPT_SUSPENSION_KEY. Throws a UsageError for a secret that is short enough to be guessed. */
function environmentSecrets(environment: Environment): readonly string[] {
  const text = environment[VARIABLE] ?? '';
  const secrets = text === '' ? [] : text.split(',').map((secret) => secret.trim());
  // defence: sealing-secrets-are-long
  if (secrets.every((secret) => secret.length >= MIN_LENGTH)) return secrets;
  throw new UsageError(
    `${VARIABLE} contains a secret of fewer than ${MIN_LENGTH} characters. Create a longer one: openssl rand -base64 32. Separate several secrets with commas: the first one seals, and each one opens.`,
  );
}

const DAY_MS = 86_400_000;

/**
 * Deletes, at most once a day, the scripts that ended more than a week ago, and old heaps that no item of a conversation
 * names. Suspended and interrupted scripts are deleted only at the
 * user's request. `database`: the conversations, if they are open already.
 */
export async function pruneDaily({ store, folder }: PersistentState, database?: OpenConversations): Promise<void> {
  if (store.isLeft || !existsSync(folder.scriptsFolder)) return;
  const mark = join(folder.path, 'pruned');
  try {
    const last = statSync(mark, { throwIfNoEntry: false });
    if (last !== undefined && Date.now() - last.mtimeMs < DAY_MS) return;
    if (last === undefined) writeFileSync(mark, '', { mode: 0o600 });
    else utimesSync(mark, new Date(), new Date());
    if (store.heaps !== undefined) await collectConversationHeaps(folder, store.heaps, database);
    await pruneScripts(store);
    await new ChangesFolder(folder.changesFolder).deleteOrphans(store);
  } catch {
    // The next process tries the clean-up again after a day. `toolscript approvals prune` reports the error.
  }
}

interface OpenConversations {
  readonly stores: ServiceStores;
}

async function collectConversationHeaps(
  folder: DataFolder,
  heaps: HeapStore,
  database: OpenConversations | undefined,
): Promise<void> {
  const { collectHeaps } = await import('@toolscript/service');
  const collect = ({ stores }: OpenConversations) => collectHeaps({ stores, heaps }, { changedMs: Infinity });
  if (database !== undefined) return collect(database);
  if (!existsSync(folder.databaseFile)) return;
  const { openDatabase } = await import('@toolscript/service/stores');
  const opened = await openDatabase(`libsql:${folder.databaseFile}`);
  try {
    await collect(opened);
  } finally {
    await opened.close();
  }
}
