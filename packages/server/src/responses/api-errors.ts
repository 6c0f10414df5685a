import type { FastifyError, FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ProblemError, requestProblem, type Problem } from '../http/problems.js';

/** Errors as clients of the OpenAI API read them. */

/** The body of each error under `/v1`. */
export const ApiErrorSchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.enum(['invalid_request_error', 'rate_limit_error', 'server_error']),
    code: z.string().nullable(),
    /** The invalid member of the request, such as `input[0].content`. */
    param: z.string().nullable(),
  }),
});

interface ApiErrorMembers {
  /** The invalid member of the request, such as `input[0].content`. */
  readonly param?: string | undefined;
  readonly code?: string | undefined;
}

export function apiError(status: number, message: string, members: ApiErrorMembers = {}): ProblemError {
  return new ProblemError(status, message, { ...members });
}

const CODES: Readonly<Record<number, string>> = {
  401: 'invalid_api_key',
  403: 'insufficient_permissions',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'request_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limit_exceeded',
  503: 'unavailable',
};

function errorType(status: number): z.infer<typeof ApiErrorSchema>['error']['type'] {
  if (status >= 500) return 'server_error';
  return status === 429 ? 'rate_limit_error' : 'invalid_request_error';
}

/** Answers every error of the routes of `app` with `{ error: { message, type, code, param } }`. */
export function answerWithApiErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = requestProblem(error as FastifyError);
    if (problem.status >= 500)
      request.log.error({ err: error }, 'a request failed with a status of 500 or more; check the cause in err');
    return reply.code(problem.status).headers(problem.headers).send(errorBody(problem));
  });
  // The guard answers unknown paths. This handler makes the errors of paths with the prefix of `app` its errors.
  app.setNotFoundHandler((_request, reply) => reply.callNotFound());
}

function errorBody({ status, message, more }: ProblemError): z.infer<typeof ApiErrorSchema> {
  const { errors: [first] = [], ...members } = more as ApiErrorMembers & Pick<Problem, 'errors'>;
  const invalid = first === undefined ? {} : { param: first.pointer.slice(1), code: 'invalid_value' };
  const { param = null, code = CODES[status] ?? null } = { ...invalid, ...members } as ApiErrorMembers;
  return { error: { message, type: errorType(status), code, param } };
}

/** The error for the first fault of a request's body. */
export function invalidBody({ issues }: z.ZodError): ProblemError {
  const issue = innermost(issues[0]!);
  const param = parameterName(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const name = parameterName([...issue.path, issue.keys[0]!]);
    return apiError(400, `Unknown parameter: ${JSON.stringify(name)}. Omit it.`, {
      param: name,
      code: 'unknown_parameter',
    });
  }
  const { code = 'invalid_value' } = (issue as { params?: { code?: string | undefined } | undefined }).params ?? {};
  const where = param === '' ? 'The body' : JSON.stringify(param);
  const message = isOwnWords(issue.message) ? `${where} ${issue.message}` : `${where} is not valid: ${issue.message}.`;
  return apiError(400, message, { code, ...(param === '' ? {} : { param }) });
}

/**
 * Whether the message comes from Toolscript's schemas. Such a message continues a sentence that begins with the
 * member's name; a message of zod does not.
 */
function isOwnWords(message: string): boolean {
  return /^[a-z]/u.test(message);
}

type Issue = z.core.$ZodIssue;

/**
 * The error that is nested deepest in a union, because its alternative matches best. Returns the error of the union if
 * no single alternative matches best.
 */
function innermost(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const alternatives = issue.errors.flatMap((issues) => issues.slice(0, 1).map(innermost));
  const depth = Math.max(0, ...alternatives.map(({ path }) => path.length));
  const [best, ...others] = alternatives.filter(({ path }) => path.length === depth);
  if (best === undefined || depth === 0 || others.length > 0) return issue;
  return { ...best, path: [...issue.path, ...best.path] };
}

function parameterName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
}
