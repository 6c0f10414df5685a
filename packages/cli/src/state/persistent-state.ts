import { fileStore } from '@toolscript/core';
import { dataFolder, type DataFolder } from '../configuration/locations.js';
import type { Environment } from '../terminal/style.js';
import { AuditFile } from './audit-file.js';
import { OriginFolder, type Origin } from './origin-folder.js';
import { ScriptStore } from './script-store.js';
import { obtainSuspensionKey, readSuspensionKey } from './suspension-key.js';

/** What outlives the process. Nothing of it is made before something is kept. */
export interface PersistentState {
  readonly folder: DataFolder;
  readonly store: ScriptStore;
  readonly origins: OriginFolder;
  readonly suspensionKey: () => Uint8Array;
}

/** `origin`: of the scripts that will be started. */
export function openState(environment: Environment, origin?: Origin): PersistentState {
  const folder = dataFolder(environment);
  const origins = new OriginFolder(folder.originsFolder);
  return {
    folder,
    origins,
    store: new ScriptStore(fileStore(folder.scriptsFolder), origins, origin),
    suspensionKey: () => obtainSuspensionKey(folder.keyFile),
  };
}

/** The same for scripts of a workspace. Throws a UsageError for a key that is not safe to use. */
export function openStateFor(environment: Environment, origin: Origin): PersistentState {
  const kept = openState(environment, origin);
  readSuspensionKey(kept.folder.keyFile);
  return kept;
}

/** Every decision, and every call with effects, of every script. */
export function openAudit(environment: Environment): AuditFile {
  return new AuditFile(dataFolder(environment).auditFile);
}
