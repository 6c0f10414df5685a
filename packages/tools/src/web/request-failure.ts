import { ToolCallError } from '@toolscript/core/protocol';
import { failure, failureMessage, systemCode } from '../failure.js';
import { visible } from '../files/path-rules.js';
import type { WebLimits } from './limits.js';

/** Describes the failure of a request for the model. */
export function failedRequest(error: unknown, url: URL, limits: WebLimits): Error {
  if (error instanceof ToolCallError) return error;
  const [name, code] = [(error as { name?: string | undefined }).name, systemCode(error) ?? ''];
  const cause = (error as { cause?: { name?: string | undefined } | undefined }).cause?.name;
  const at = visible(url.host);
  if (name === 'TimeoutError' || cause === 'TimeoutError')
    return failure('timed_out', `${at} had not sent the whole page after ${limits.timeoutMs} ms. Try again later.`);
  if (name === 'AbortError') return failure('aborted', 'The call was aborted before it ended.');
  if (code === 'HPE_HEADER_OVERFLOW')
    return failure('too_large', `${at} sent more than ${limits.maxHeaderBytes} bytes of headers. Read another page.`);
  if (code.startsWith('HPE_')) return failure('network', `${at} did not answer with valid HTTP. Check the URL.`);
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR'))
    return failure('unreadable', `${at} sent a compressed page that is damaged. Try again later.`);
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return failure('network', `${at} closed the connection before the whole page had arrived. Try again later.`);
  return failure(
    'network',
    `${at} could not be reached: ${visible(code === '' ? failureMessage(error) : code)}. Check the URL, and the network.`,
  );
}
