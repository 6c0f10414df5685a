import type { Scope } from '@toolscript/service/stores';

/** The sender of a request. */
export interface Caller {
  readonly principal: string;
  readonly scopes: readonly Scope[];
  /** The API key that authenticated the request. */
  readonly keyId?: string | undefined;
}

export function hasScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}
