/** The folder of the repository. */
export const root: string;

/** The command and the arguments that run npm. */
export function npmCall(args: readonly string[], options?: object): unknown[];
