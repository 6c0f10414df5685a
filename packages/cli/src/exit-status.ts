/** The exit statuses of the process. */
export const EXIT = {
  /** Every script completed, or there was none. */
  completed: 0,
  /** A script, a run or a check failed. Takes precedence over `suspended`. */
  failed: 1,
  /** The usage, the input or the configuration is wrong. */
  usage: 2,
  /** A script waits for an approval. */
  suspended: 3,
  /** The terminal was closed. */
  hungUp: 129,
  /** The user pressed Ctrl-C. As in shells, the status is 128 plus the signal's number. */
  interrupted: 130,
  /** The program that reads stdout has ended. */
  brokenPipe: 141,
} as const;
