import { SharedAudit, type AuditFile, type AuditTable } from '@toolscript/server/access';
import { dataFolder } from '../configuration/locations.js';
import type { Environment } from '../terminal/screen.js';
import { visible } from '../terminal/untrusted.js';
import { openAudit } from './persistent-state.js';

/**
 * Opens the audit log of a server. If the server has a table for it, each entry is first written to a file on this
 * machine and then copied to the table. Commands at the terminal write to a different file, which is not copied.
 */
export function openServiceAudit(
  table: AuditTable | undefined,
  environment: Environment,
  warn: (message: string) => void,
): AuditFile | SharedAudit {
  if (table === undefined) return openAudit(environment);
  const file = openAudit(environment, dataFolder(environment).serviceAuditFile);
  const onFault = (error: unknown) =>
    warn(
      `Toolscript cannot copy the audit log to the database (${visible(String(error))}). The file keeps the entries until the database answers. Check the database.`,
    );
  return new SharedAudit({ file, table, onFault });
}
