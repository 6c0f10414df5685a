import type { AuditEntry } from '@toolscript/core';
import { DEFAULT_PAGE, readCursor, writeCursor } from '@toolscript/core/protocol';
import type { ApiKey } from './api-keys.js';
import type { Scope } from './caller.js';
import { LOCAL_PRINCIPAL } from '../runs/principals.js';
import type { UndoDirection, UndoReport } from './script-undo.js';

/**
 * A user's decision, received over HTTP. When the run resumes, an entry of type `approval` records the effect of the
 * decision.
 */
export interface DecisionEntry {
  readonly type: 'decision';
  /** The time, as ISO 8601 in UTC. */
  readonly at: string;
  readonly principal: string;
  /** The API key that authenticated the request. */
  readonly keyId?: string;
  readonly threadId: string;
  readonly runId: string;
  readonly scriptId?: string;
  readonly callId: string;
  readonly approvalId: string;
  readonly tool: string;
  readonly decision: 'approve' | 'deny';
  readonly note?: string;
  readonly remember?: string;
  /** The arguments of the call, as JSON. `replacingInput` contains the arguments that the user has set instead. */
  readonly inputJson: string;
  readonly replacingInput?: unknown;
}

/** Records that an API key was added or revoked. */
export interface KeyEntry {
  readonly type: 'key_added' | 'key_revoked';
  /** The time, as ISO 8601 in UTC. */
  readonly at: string;
  /** The owner of the data that the key can access. */
  readonly principal: string;
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
}

export function keyEntry(type: KeyEntry['type'], { principal, keyId, name, scopes }: ApiKey): KeyEntry {
  return { type, at: new Date().toISOString(), principal, keyId, name, scopes };
}

/** Records that a user has undone, or redone, the file changes of a script. */
export interface UndoEntry {
  readonly type: 'undo';
  readonly at: string;
  readonly principal: string;
  readonly scriptId: string;
  readonly direction: UndoDirection;
  /** The changed files. */
  readonly files: readonly string[];
}

export function undoEntry({ scriptId, direction, files }: UndoReport, principal: string): UndoEntry {
  const at = new Date().toISOString();
  return { type: 'undo', at, principal, scriptId, direction, files: files.map(({ path }) => path) };
}

export type ServiceAuditEntry = AuditEntry | DecisionEntry | KeyEntry | UndoEntry;

/** An entry matches the filter if it has all values that the filter contains. */
export interface AuditFilter {
  readonly principal?: string;
  readonly threadId?: string;
  readonly runId?: string;
  readonly scriptId?: string;
}

export interface AuditQuery extends AuditFilter {
  readonly after?: string;
  readonly limit?: number;
}

/** A page may have fewer entries than requested, or none, even if another page follows. */
export interface AuditPage {
  readonly entries: readonly ServiceAuditEntry[];
  readonly next?: string;
}

/** Stores decisions, the starts and ends of calls with effects, undos and redos, and changes to API keys. */
export interface AuditStore {
  /** Appends an entry. The function works without a receiver (`this`). Throws if the store cannot append. */
  readonly append: (entry: ServiceAuditEntry) => void;
  /** Newest first. */
  list(query: AuditQuery): Promise<AuditPage>;
  /** Yields the matching entries that exist when the export starts, oldest first. */
  export(filter: AuditFilter): AsyncIterable<ServiceAuditEntry>;
}

/** The principal of an entry. An entry without a principal belongs to the user of this machine. */
export function principalOf({ principal = LOCAL_PRINCIPAL }: ServiceAuditEntry): string {
  return principal;
}

export function matches(entry: ServiceAuditEntry, { principal, ...ids }: AuditFilter): boolean {
  // defence: audit-of-the-principal, without it: if (principal === '') return false;
  if (principal !== undefined && principalOf(entry) !== principal) return false;
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
