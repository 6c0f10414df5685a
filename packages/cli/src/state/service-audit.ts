import { SharedAudit, type AuditFile, type AuditTable } from '@toolscript/server/access';
import { dataFolder } from '../configuration/locations.js';
import type { Environment } from '../terminal/screen.js';
import { visible } from '../terminal/untrusted.js';
import { openAudit } from './persistent-state.js';

/**
 * The audit log of a server. With a table, an entry is in a file of this machine before it is copied to the table; the
 * terminal's own entries are in another file, and are not copied.
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
