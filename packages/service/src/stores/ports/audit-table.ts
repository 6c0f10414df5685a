import type { AuditEntry } from '@toolscript/core';
import { LOCAL_PRINCIPAL } from '../../principals.js';
import type { Scope } from './api-key-store.js';

/** Who sent a request, or used a command. */
export interface Actor {
  readonly principal: string;
  /** The API key that authenticated the request. */
  readonly keyId?: string | undefined;
  /** The address of the client. A command on this machine has none. */
  readonly address?: string | undefined;
}

/** The members of each entry about a request. */
export interface RequestStamp {
  /** The time, as ISO 8601 in UTC. */
  readonly at: string;
  /** The owner of what was changed. */
  readonly principal: string;
  readonly actor: Actor;
}

/**
 * A user's decision, received over HTTP. When the run resumes, an entry of type `approval` records the effect of the
 * decision.
 */
export interface DecisionEntry extends RequestStamp {
  readonly type: 'decision';
  readonly threadId: string;
  readonly runId: string;
  readonly scriptId?: string | undefined;
  readonly callId: string;
  readonly approvalId: string;
  readonly tool: string;
  readonly decision: 'approve' | 'deny';
  readonly note?: string | undefined;
  readonly remember?: string | undefined;
  /** The arguments of the call, as JSON. `replacingInput` contains the arguments that the user has set instead. */
  readonly inputJson: string;
  readonly replacingInput?: unknown;
}

/** Records that an API key was added or revoked. `principal`: the owner of the data that the key can access. */
export interface KeyEntry extends RequestStamp {
  readonly type: 'key_added' | 'key_revoked';
  /** The key that was added or revoked. */
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
}

/** Records that a user has undone, or redone, the file changes of a script. */
export interface UndoEntry extends RequestStamp {
  readonly type: 'undo';
  readonly scriptId: string;
  readonly direction: 'undo' | 'redo';
  /** The changed files. */
  readonly files: readonly string[];
}

/** Records another change that a request has made. */
interface ChangeEntry extends RequestStamp {
  readonly type:
    | 'run_submitted'
    | 'run_cancelled'
    | 'run_resumed'
    | 'script_cancelled'
    | 'thread_renamed'
    | 'thread_deleted'
    | 'file_deleted'
    | 'saved_deleted'
    | 'rule_deleted'
    | 'provider_connected'
    | 'provider_removed'
    | 'mcp_call';
  readonly threadId?: string | undefined;
  readonly turnId?: string | undefined;
  readonly runId?: string | undefined;
  readonly scriptId?: string | undefined;
  readonly fileKey?: string | undefined;
  /** The kind and the name of a deleted prompt or script. */
  readonly kind?: 'prompt' | 'snippet' | undefined;
  readonly name?: string | undefined;
  readonly ruleId?: string | undefined;
  readonly provider?: string | undefined;
  /** The tools that a request to `/mcp` has called. */
  readonly tools?: readonly string[] | undefined;
}

/** An entry about a request that has changed something, or about a command. */
export type RequestEntry = DecisionEntry | KeyEntry | UndoEntry | ChangeEntry;

export type ServiceAuditEntry = AuditEntry | RequestEntry;

/** An entry matches the filter if it has all values that the filter contains. */
export interface AuditFilter {
  readonly principal?: string | undefined;
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
  readonly scriptId?: string | undefined;
}

export interface AuditQuery extends AuditFilter {
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** A page may have fewer entries than requested, or none, even if another page follows. */
export interface AuditPage {
  readonly entries: readonly ServiceAuditEntry[];
  readonly next?: string | undefined;
}

/** The principal of an entry. An entry without a principal belongs to the user of this machine. */
export function entryPrincipal({ principal = LOCAL_PRINCIPAL }: ServiceAuditEntry): string {
  return principal;
}

/** An entry and its hash, which identifies the entry. */
export interface HashedEntry {
  readonly sha256: string;
  readonly entry: ServiceAuditEntry;
}

/** The audit entries of all servers, in a shared database. */
export interface AuditTable {
  /** Returns the hashes that are already stored. */
  known(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /** Adds entries in order, all or none. Skips entries that the table already has. */
  add(entries: readonly HashedEntry[]): Promise<void>;
  list(query: AuditQuery): Promise<AuditPage>;
}
