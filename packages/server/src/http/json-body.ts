import { JsonMeasure, MAX_JSON_DEPTH } from '@toolscript/core/internal';
import { errorCodes, type FastifyInstance, type FastifyRequest, type RequestPayload } from 'fastify';
import { MAX_BODY_MIB, ProblemError } from './problems.js';

const MAX_BODY = MAX_BODY_MIB * 1024 * 1024;

/** Limits of a JSON body, before it is parsed. */
const BODY_LIMITS = { levels: MAX_JSON_DEPTH, values: 200_000 };

/**
 * Accepts only JSON. Measures a body while it arrives, and reads no more of it after a fault: a large body that is
 * refused costs little time and memory. Treats an empty body as missing, because some clients set the content type of
 * every request.
 */
export function acceptJsonAlone(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', (request, payload, done) => {
    readText(request, payload, (error, text) => {
      if (error === null && text !== '') return void parse(request, text, done);
      done(error);
    });
  });
}

function readText(
  { headers }: FastifyRequest,
  payload: RequestPayload,
  done: (error: Error | null, text: string) => void,
): void {
  const announced = Number(headers['content-length'] ?? Number.NaN);
  if (announced > MAX_BODY) return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(), '');
  const measure = new JsonMeasure(BODY_LIMITS);
  const chunks: Buffer[] = [];
  let length = 0;
  const end = (error: Error | null) => {
    payload.off('data', add).off('end', finish).off('error', end);
    done(error, error === null ? Buffer.concat(chunks, length).toString() : '');
  };
  const add = (chunk: Buffer) => {
    length += chunk.length;
    if (length > MAX_BODY) return end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    measure.add(chunk.toString('latin1'));
    const { problem } = measure;
    // defence: bodies-are-measured-before-parsing
    if (problem !== undefined) return end(new ProblemError(400, `The body ${problem}. Send a smaller one.`));
    chunks.push(chunk);
  };
  const finish = () => {
    const isWhole = Number.isNaN(announced) || (payload.receivedEncodedLength ?? length) === announced;
    end(isWhole ? null : new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
  };
  payload.on('data', add).on('end', finish).on('error', end);
  payload.resume();
}
