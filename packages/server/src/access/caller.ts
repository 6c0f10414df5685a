/** The permissions of a caller. `admin` includes the other permissions. */
export const SCOPES = ['read', 'run', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** The sender of a request. */
export interface Caller {
  readonly principal: string;
  readonly scopes: readonly Scope[];
  /** The API key that authenticated the request. */
  readonly keyId?: string;
}

export function hasScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}
