import type { AuthInfo, McpRequestContext } from '@modelcontextprotocol/server';

/** The sender of a request to a gateway. */
export interface GatewayCaller {
  /** The owner of the caller's scripts. Default: the principal of the gateway. */
  readonly principal?: string | undefined;
  /** Whether the caller may run scripts. Otherwise the caller can only find tools and read their declarations. */
  readonly mayRun: boolean;
  /** Whether the caller may approve or deny calls by answering questions. */
  readonly mayDecide: boolean;
  /** Whether the caller may also allow all later calls like one that it approves. Default false. */
  readonly mayRemember?: boolean | undefined;
}

export const LOCAL_CALLER: GatewayCaller = { mayRun: true, mayDecide: true, mayRemember: true };

/** The form in which the SDK carries a caller from a request to the server that is made for the request. */
export function requestOptions(caller: GatewayCaller, body: unknown): { authInfo: AuthInfo; parsedBody?: unknown } {
  const authInfo = { token: '', clientId: caller.principal ?? '', scopes: [], extra: { caller } };
  return { authInfo, ...(body === undefined ? {} : { parsedBody: body }) };
}

/** The caller of a request; the user of this machine if the request names no caller. */
export function callerIn({ authInfo }: Partial<McpRequestContext>): GatewayCaller {
  return (authInfo?.extra?.['caller'] as GatewayCaller | undefined) ?? LOCAL_CALLER;
}

/** Whether both callers have the same rights and the same owner. */
export function isSameCaller(one: GatewayCaller, other: GatewayCaller): boolean {
  const rights = ({ principal, mayRun, mayDecide, mayRemember = false }: GatewayCaller) =>
    JSON.stringify([principal, mayRun, mayDecide, mayRemember]);
  return rights(one) === rights(other);
}
