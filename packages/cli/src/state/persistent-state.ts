import { fileStore, readKeyFile } from '@toolscript/core';
import type { HarnessStore } from '@toolscript/core/protocol';
import { dataFolder, type DataFolder } from '../configuration/locations.js';
import type { Environment } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { AuditFile } from '@toolscript/server/access';
import { ChangesFolder } from './changes-folder.js';
import { OriginFolder, type Origin } from './origin-folder.js';
import { ScriptStore } from './script-store.js';
import { environmentSecrets, suspensionKeys, type SuspensionSecrets } from './suspension-keys.js';

/** The data that outlives the process. Nothing is created before the first write. */
export interface PersistentState {
  readonly folder: DataFolder;
  readonly store: ScriptStore;
  readonly origins: OriginFolder;
  /** The first secret seals; every secret opens. */
  readonly suspensionKey: () => SuspensionSecrets;
}

/** `origin`: of the scripts that will be started. `scripts`: their store; default: files in the data folder. */
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

/** The same for scripts of a workspace. Throws a UsageError for an unsafe key file, or an unsafe key. */
export function openStateFor(environment: Environment, origin: Origin, scripts?: HarnessStore): PersistentState {
  const kept = openState(environment, origin, scripts);
  environmentSecrets(environment);
  readKeyFile(kept.folder.keyFile, { name: visibleLine(kept.folder.keyFile) });
  return kept;
}

/** The audit log: each decision, and each call with effects. */
export function openAudit(environment: Environment, path = dataFolder(environment).auditFile): AuditFile {
  const { TOOLSCRIPT_TOKEN: token = '' } = environment;
  const secrets = [token, ...environmentSecrets(environment)];
  return new AuditFile(path, { secrets });
}
