import type { DocumentScope } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure } from '../failure.js';

export const ScopeSchema = z
  .enum(['thread', 'principal', 'workspace'])
  .describe('Who shares it: this conversation (default), this user, or everybody in the workspace.');

export type ScopeName = z.output<typeof ScopeSchema>;

/** From the narrowest to the widest: the order in which a name is searched. */
export const SCOPES: readonly ScopeName[] = ['thread', 'principal', 'workspace'];

/** The ids of the scopes of one call. Undefined: the scope does not exist there. */
export interface DocumentOwner {
  readonly threadId?: string | undefined;
  readonly principal?: string | undefined;
  readonly workspace?: string | undefined;
}

/** The parts of an owner that are the same for all calls. */
export interface CommonOwner {
  /** The id of the workspace. Default: the scope `workspace` does not exist. */
  readonly workspace?: string | undefined;
  /** The user of calls that name none. Default: for such calls, the scope `principal` does not exist. */
  readonly principal?: string | undefined;
}

export function ownerOf({ threadId, principal }: Omit<DocumentOwner, 'workspace'>, common: CommonOwner): DocumentOwner {
  return { threadId, principal: principal ?? common.principal, workspace: common.workspace };
}

/** Undefined if the owner has no such scope. */
export function scopeOf({ threadId, principal, workspace }: DocumentOwner, kind: ScopeName): DocumentScope | undefined {
  const id = { thread: threadId, principal, workspace }[kind];
  return id === undefined ? undefined : { kind, id };
}

export function demandScope(owner: DocumentOwner, kind: ScopeName): DocumentScope {
  const scope = scopeOf(owner, kind);
  if (scope !== undefined) return scope;
  const present = SCOPES.filter((name) => scopeOf(owner, name) !== undefined);
  const advice = present.length === 0 ? 'It has none.' : `Use one of: ${present.join(', ')}.`;
  throw failure('missing', `This run has no scope "${kind}". ${advice}`);
}
