/** The principal of this machine's user, who works at the terminal or with the server's own token. */
export const LOCAL_PRINCIPAL = 'local';

/** The owner of the principal's scripts. Returns undefined for this machine's user, whose scripts have no owner. */
export function scriptPrincipal(principal: string): string | undefined {
  return principal === LOCAL_PRINCIPAL ? undefined : principal;
}
