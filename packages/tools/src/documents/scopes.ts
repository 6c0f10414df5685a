import type { DocumentScope } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure } from '../failure.js';

export const ScopeSchema = z
  .enum(['thread', 'principal', 'workspace'])
  .describe('Shared with this conversation (default), this user, or everybody in the workspace.');

export type ScopeName = z.output<typeof ScopeSchema>;

/** The scopes from the narrowest to the widest, which is the order of the search for a name. */
export const SCOPES: readonly ScopeName[] = ['thread', 'principal', 'workspace'];

/** The ids of the scopes of one call. Undefined: the call does not have the scope. */
export interface DocumentOwner {
  readonly threadId?: string | undefined;
  readonly principal?: string | undefined;
  readonly workspace?: string | undefined;
}

/** The parts of an owner that are the same for all calls. */
export interface CommonOwner {
  /** The id of the workspace. Default: calls do not have the scope `workspace`. */
  readonly workspace?: string | undefined;
  /** The user for calls that name no user. Default: such calls do not have the scope `principal`. */
  readonly principal?: string | undefined;
}

export function documentOwner(
  { threadId, principal }: Omit<DocumentOwner, 'workspace'>,
  common: CommonOwner,
): DocumentOwner {
  return { threadId, principal: principal ?? common.principal, workspace: common.workspace };
}

/** The owner's scope of a kind, in the form that the store takes. Undefined if the owner does not have this scope. */
export function ownerScope(
  { threadId, principal, workspace }: DocumentOwner,
  kind: ScopeName,
): DocumentScope | undefined {
  const id = { thread: threadId, principal, workspace }[kind];
  return id === undefined ? undefined : { kind, id };
}

export function demandScope(owner: DocumentOwner, kind: ScopeName): DocumentScope {
  const scope = ownerScope(owner, kind);
  if (scope !== undefined) return scope;
  const present = SCOPES.filter((name) => ownerScope(owner, name) !== undefined);
  const advice =
    present.length === 0
      ? 'The host can give the run a conversation, a user or a workspace.'
      : `Use one of: ${present.join(', ')}.`;
  throw failure('missing', `This run has no scope "${kind}". ${advice}`);
}
