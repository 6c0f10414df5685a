/** A problem document (RFC 9457), as the server sends it. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The location of the fault: a JSON pointer into the body, or the name of a parameter. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[] | undefined;
  /** A problem may have more members, such as the `approval` that was already decided. */
  readonly [member: string]: unknown;
}

/** The server refused a request or failed. `problem` contains the reason. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;
  /** The delay that the server requests, in ms; undefined if it requests none. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: Problem, retryAfterMs?: number) {
    super(problem.detail);
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }

  get status(): number {
    return this.problem.status;
  }
}

/**
 * The error for an answer with a failure status. `body`: the parsed problem document, or other content from a proxy.
 */
export function responseProblem({ status, statusText, headers }: Response, body: unknown): ProblemError {
  const given = typeof body === 'object' && body !== null ? (body as Partial<Problem>) : {};
  const title = given.title ?? (statusText === '' ? 'Error' : statusText);
  const detail =
    given.detail ??
    `The server answered with the status ${status} and without a problem document. Check that baseUrl is the address of a Toolscript server.`;
  const seconds = /^\d{1,6}$/u.exec(headers.get('retry-after') ?? '')?.[0];
  const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1000;
  return new ProblemError({ type: 'about:blank', ...given, title, status, detail }, retryAfterMs);
}
