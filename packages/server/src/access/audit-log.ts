import {
  entryPrincipal,
  readCursor,
  writeCursor,
  type ApiKey,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type ServiceAuditEntry,
} from '@toolscript/service/stores';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import { DEFAULT_PAGE } from '@toolscript/core/ports';
import type { UndoReport } from './script-undo.js';

/** The entry of a command of this machine's user. */
export function localEntry<Facts extends object>(facts: Facts) {
  return { ...facts, at: new Date().toISOString(), actor: { principal: LOCAL_PRINCIPAL } };
}

export function keyFacts({ principal, keyId, name, scopes }: ApiKey) {
  return { principal, keyId, name, scopes };
}

export function undoFacts({ scriptId, direction, files }: UndoReport) {
  return { scriptId, direction, files: files.map(({ path }) => path) };
}

/** Stores the starts and ends of calls with effects, and requests that have changed something. */
export interface AuditStore {
  /** Appends an entry. The function works without a receiver (`this`). Throws if the store cannot append. */
  readonly append: (entry: ServiceAuditEntry) => void;
  /** Newest first. */
  list(query: AuditQuery): Promise<AuditPage>;
  /** Yields the matching entries that exist when the export starts, oldest first. */
  export(filter: AuditFilter): AsyncIterable<ServiceAuditEntry>;
}

export function matches(entry: ServiceAuditEntry, { principal, ...ids }: AuditFilter): boolean {
  // defence: audit-of-the-principal
  if (principal !== undefined && entryPrincipal(entry) !== principal) return false;
  const members = entry as unknown as Readonly<Record<string, unknown>>;
  return Object.entries(ids).every(([name, id]) => id === undefined || members[name] === id);
}

const MAX_IN_MEMORY = 10_000;

/** An audit store in memory, with the newest 10 000 entries. */
export function memoryAudit(): AuditStore {
  const entries: ServiceAuditEntry[] = [];
  let dropped = 0;
  return {
    append(entry) {
      entries.push(structuredClone(entry));
      if (entries.length <= MAX_IN_MEMORY) return;
      entries.shift();
      dropped += 1;
    },
    async list({ after, limit = DEFAULT_PAGE, ...filter }) {
      const end = after === undefined ? entries.length : readCursor('audit', after) - dropped;
      const found: ServiceAuditEntry[] = [];
      for (let index = Math.min(end, entries.length) - 1; index >= 0; index -= 1) {
        if (!matches(entries[index]!, filter)) continue;
        if (found.length === limit) return { entries: found, next: writeCursor('audit', index + 1 + dropped) };
        found.push(entries[index]!);
      }
      return { entries: found };
    },
    async *export(filter) {
      yield* entries.filter((entry) => matches(entry, filter));
    },
  };
}
