/** The owner of all data of this machine's user, at the terminal and with the server's own token. */
export const LOCAL_PRINCIPAL = 'local';

/** The principal that owns a principal's scripts. Scripts of the machine's user have none. */
export function scriptPrincipal(principal: string): string | undefined {
  return principal === LOCAL_PRINCIPAL ? undefined : principal;
}
