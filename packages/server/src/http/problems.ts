import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { KnownRoutes } from './known-routes.js';
import { closeUnreadBody } from './unread-body.js';

/** Maximum size of a request's body, in MiB. */
export const MAX_BODY_MIB = 8;

/** A problem document (RFC 9457). */
export const ProblemSchema = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  /** The faults. `pointer` is a JSON pointer into the invalid part of the request, such as the body or the query. */
  errors: z.array(z.strictObject({ pointer: z.string(), detail: z.string() })).optional(),
});
export type Problem = z.infer<typeof ProblemSchema>;

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  408: 'Request timeout',
  409: 'Conflict',
  413: 'Request too large',
  414: 'URL too long',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  422: 'Unprocessable request',
  429: 'Too many requests',
  431: 'Headers too large',
  500: 'Internal error',
  503: 'Unavailable',
};

/** Ends a request with a problem document. `more`: further members of the document. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: number;
  readonly more: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    detail: string,
    more: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.status = status;
    this.more = more;
    this.headers = headers;
  }
}

export function notFoundProblem(kind: string, id: string): ProblemError {
  return new ProblemError(
    404,
    `You have no ${kind} ${JSON.stringify(id.slice(0, 200))}. Check the id, and the user of your token.`,
  );
}

export function problemDocument(status: number, detail: string, more: Readonly<Record<string, unknown>> = {}): Problem {
  return { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail, ...more };
}

function sendProblem(reply: FastifyReply, { status, message, more, headers }: ProblemError): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .type('application/problem+json')
    .serializer((body: unknown) => JSON.stringify(body))
    .send(problemDocument(status, message, more));
}

/** Answers every error of a route with a problem document. The answer to an internal error reveals no internals. */
export function answerWithProblems(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = requestProblem(error as FastifyError);
    if (problem.status >= 500)
      request.log.error({ err: error }, 'a request failed with a status of 500 or more; check the cause in err');
    return sendProblem(reply, problem);
  });
}

/** Answers a failure that precedes routing, such as a path that cannot be decoded, with a problem document. */
export function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  closeUnreadBody(request, reply);
  void sendProblem(reply, requestProblem(error));
}

export function unknownRoute({ method, url }: FastifyRequest, routes: KnownRoutes): ProblemError {
  const path = url.split('?')[0]!.slice(0, 200);
  const methods = routes.pathMethods(path);
  if (methods.length > 0) {
    const allow = methods.join(', ');
    return new ProblemError(405, `${path} does not accept ${method}. Use ${allow}.`, {}, { allow });
  }
  return new ProblemError(404, `There is no ${method} ${path}. /openapi.json lists the routes.`);
}

/** The HTTP status for each known error of the stores and of the library. */
const STATUS_OF: Readonly<Record<string, number>> = {
  ToolscriptUsageError: 400,
  InvalidCursorError: 400,
  NotFoundError: 404,
  StorageLimitError: 409,
  ThreadBusyError: 409,
  IdempotencyConflictError: 409,
  StoreUnavailableError: 503,
};

/** Converts any error of a request to a problem that is safe to show to the client. */
export function requestProblem(error: FastifyError): ProblemError {
  if (error instanceof ProblemError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalidRequest(error);
  const known = STATUS_OF[error.name];
  if (known === 503)
    return new ProblemError(
      503,
      'A store of the server is not available now. Try again later. The log of the server contains the cause.',
    );
  if (known !== undefined) return new ProblemError(known, sentence(error.message));
  const { statusCode = 500 } = error;
  if (statusCode < 500) return new ProblemError(statusCode, requestErrorDetail(error));
  return new ProblemError(
    500,
    'The request failed because of a fault of the server. Look for the error in the log of the server.',
  );
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

function requestErrorDetail({ code, message }: FastifyError): string {
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return 'The body must be JSON. Send it with "Content-Type: application/json".';
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return `The body is larger than ${MAX_BODY_MIB} MiB, the maximum of this server. Send a smaller one.`;
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return 'The body is empty. Send a JSON object.';
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return 'An id in the path is longer than 256 characters, the maximum of a path parameter. Correct the id.';
    case 'FST_ERR_BAD_URL':
      return 'The path cannot be decoded. Percent-encode each part of the path as UTF-8.';
    default:
      return sentence(message);
  }
}

function invalidRequest(error: FastifyError & { validation: NonNullable<FastifyError['validation']> }): ProblemError {
  const errors = error.validation.slice(0, 20).map(({ instancePath, message }) => ({
    pointer: instancePath === '' ? '/' : instancePath,
    detail: message ?? 'invalid',
  }));
  const where = error.validationContext === 'body' ? 'body' : (error.validationContext ?? 'request');
  const [first] = errors;
  return new ProblemError(400, `The ${where} is not valid: ${first?.pointer}: ${first?.detail}.`, { errors });
}
