/** The connection could not be opened. The message names the problem and its fix. */
export class ConnectError extends Error {
  /** Whether a retry is useless until the user has acted. */
  readonly needsUser: boolean;

  constructor(message: string, { needsUser = false }: { needsUser?: boolean | undefined } = {}) {
    super(message);
    this.needsUser = needsUser;
  }
}
