import { rmSync, writeFileSync } from 'node:fs';
import {
  KeyFolder,
  SCOPES,
  isActive,
  keyFacts,
  localEntry,
  makeApiKey,
  type ApiKey,
  type ApiKeyStore,
  type AuditStore,
  type AuditTable,
  type Scope,
} from '@toolscript/server/access';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import { dataFolder } from '../configuration/locations.js';
import { EXIT } from '../exit-status.js';
import { openStorage } from '../serve/open-storage.js';
import { openScreen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { throughStore } from '../threads/thread-database.js';
import { openServiceAudit } from '../state/service-audit.js';
import { systemCode, UsageError } from '../usage-error.js';
import { ago } from '../view/values.js';

export interface KeyFlags {
  json?: boolean | undefined;
  /** The URL of the servers' PostgreSQL database. Default: the data folder contains the keys. */
  store?: string | undefined;
}

export interface NewKeyFlags extends KeyFlags {
  principal?: string | undefined;
  scopes?: string | undefined;
  expires?: string | undefined;
  /** A new file for the key. Default: the key is printed. */
  output?: string | undefined;
}

const DEFAULT_SCOPES = 'read,run';
const DAY_MS = 86_400_000;

/** Creates a key, and prints it once or writes it to a new file. */
export async function addKey(name: string, flags: NewKeyFlags): Promise<number> {
  const screen = openScreen();
  if (flags.principal === undefined && name === LOCAL_PRINCIPAL)
    throw new UsageError(
      `"${LOCAL_PRINCIPAL}" is your own principal at this machine. Choose another name, or add --principal ${LOCAL_PRINCIPAL} for a key to all of your own threads.`,
    );
  const draft = {
    name,
    principal: flags.principal ?? name,
    scopes: scopesIn(flags.scopes ?? DEFAULT_SCOPES),
    ...(flags.expires === undefined ? {} : { expiresAt: keyExpiry(flags.expires) }),
  };
  const { key, token } = newKey(draft);
  const add = async () =>
    withKeys(flags, async (keys, audit) => {
      note(audit, 'key_added', key);
      await keys.add(key);
    });
  if (flags.output !== undefined) {
    await withTokenFile(flags.output, token, add);
    if (flags.json === true) screen.write(`${jsonText(shownKey(key), 2)}\n`);
    else screen.line(`${key.keyId} is in ${visibleLine(flags.output)}, for your user alone.`);
    return EXIT.completed;
  }
  await add();
  if (flags.json === true) {
    screen.write(`${jsonText({ ...shownKey(key), token }, 2)}\n`);
    return EXIT.completed;
  }
  screen.line(token);
  screen.warn(`The key is shown only this once. It allows ${key.scopes.join(', ')} for ${keyOwner(key)}.`);
  return EXIT.completed;
}

/** Writes the file before the key exists, so that no key is lost. Throws a UsageError if the file exists. */
async function withTokenFile(path: string, token: string, add: () => Promise<void>): Promise<void> {
  try {
    // defence: key-files-are-private-and-new
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new UsageError(
      `--output ${visibleLine(path)}: the file cannot be created (${code}), so no key was created. Name a new file in a folder that you may write to.`,
    );
  }
  try {
    await add();
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

export async function listKeys({ json = false, ...flags }: KeyFlags): Promise<number> {
  const screen = openScreen();
  const all = await withKeys(flags, (keys) => keys.list());
  if (json) screen.write(`${jsonText(all.map(shownKey), 2)}\n`);
  else if (all.length === 0) screen.line('There are no API keys. Create one: toolscript keys add NAME');
  else for (const key of all) screen.line(keyLine(key));
  return EXIT.completed;
}

/**
 * Deletes the named keys. Throws a UsageError, and deletes none, if a name fits no key or several keys. A server
 * refuses a deleted key at the next request.
 */
export async function revokeKeys(names: readonly string[], flags: KeyFlags): Promise<number> {
  const screen = openScreen();
  await withKeys(flags, async (keys, audit) => {
    const all = await keys.list();
    const found = new Set(names.map((name) => namedKey(all, name)));
    for (const key of found) {
      const { keyId, name } = key;
      note(audit, 'key_revoked', key);
      await keys.delete(keyId);
      screen.line(`${keyId} (${name}) is revoked.`);
    }
  });
  return EXIT.completed;
}

/** Records a change in the audit log, before the key is changed. Throws a UsageError if the log cannot be written. */
function note(audit: Pick<AuditStore, 'append'>, type: 'key_added' | 'key_revoked', key: ApiKey): void {
  try {
    audit.append(localEntry({ type, ...keyFacts(key) }));
  } catch (error) {
    const path = visibleLine(dataFolder(process.env).path);
    throw new UsageError(
      `The audit log in ${path} cannot be written (${systemCode(error) ?? 'unknown error'}), so the key ${key.name} was not changed. Give your user write permission, or free disk space.`,
    );
  }
}

function namedKey(keys: readonly ApiKey[], text: string): ApiKey {
  const found = keys.filter(({ keyId, name }) => keyId === text || name === text);
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new UsageError(`There is no API key ${visibleLine(text)}. To list the keys: toolscript keys list`);
  const ids = found.map(({ keyId }) => keyId).join(', ');
  throw new UsageError(`${visibleLine(text)} is the name of ${found.length} keys. Name one by its id: ${ids}`);
}

function newKey(draft: Parameters<typeof makeApiKey>[0]): ReturnType<typeof makeApiKey> {
  try {
    return makeApiKey(draft);
  } catch (error) {
    if (error instanceof Error && error.name === 'ToolscriptUsageError')
      throw new UsageError(`${visibleLine(error.message)}.`);
    throw error;
  }
}

function scopesIn(text: string): Scope[] {
  return text.split(',').map((word) => {
    const scope = SCOPES.find((one) => one === word.trim());
    if (scope !== undefined) return scope;
    throw new UsageError(
      `--scopes: there is no scope ${visibleLine(word.trim()) || '""'}. The scopes are ${SCOPES.join(', ')}.`,
    );
  });
}

function keyExpiry(text: string): number {
  const days = /^(?<days>[1-9]\d{0,4})d?$/u.exec(text)?.groups?.['days'];
  if (days === undefined) throw new UsageError(`--expires ${visibleLine(text)}: give a number of days, such as 90d.`);
  return Date.now() + Number(days) * DAY_MS;
}

/** Omits the hash, which is useless to users. */
function shownKey(whole: ApiKey) {
  const { sha256: _sha256, ...key } = whole;
  return { ...key, state: isActive(whole) ? 'active' : 'expired' };
}

function keyLine(key: ApiKey): string {
  const { keyId, name, scopes, createdAt } = key;
  return `${keyId}  ${name}  ${scopes.join(',')}  for ${keyOwner(key)}, made ${ago(Date.now() - createdAt)}`;
}

function keyOwner({ principal, expiresAt }: ApiKey): string {
  if (expiresAt === undefined) return principal;
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  return `${principal}, ${expiresAt > Date.now() ? 'until' : 'expired on'} ${day}`;
}

type Use<Result> = (keys: ApiKeyStore, audit: Pick<AuditStore, 'append'>) => Promise<Result>;

/** Calls `use` with the API keys of the data folder, or with those of a database. */
async function withKeys<Result>({ store }: KeyFlags, use: Use<Result>): Promise<Result> {
  if (store === undefined)
    return withAudit(undefined, (audit) => use(new KeyFolder(dataFolder(process.env).keysFolder), audit));
  const storage = await openStorage({ store }, process.env);
  try {
    const { keys } = storage;
    if (keys === undefined)
      throw new UsageError(
        '--store: only a postgres://… database has API keys of its own. Omit --store to use the keys of the data folder.',
      );
    return await withAudit(storage.audit, (audit) => use(keys, audit));
  } finally {
    await storage.close();
  }
}

async function withAudit<Result>(
  table: AuditTable | undefined,
  use: (audit: Pick<AuditStore, 'append'>) => Promise<Result>,
): Promise<Result> {
  const audit = openServiceAudit(table, process.env, openScreen().notice);
  try {
    return await throughStore(use(audit));
  } finally {
    await audit.close();
  }
}
