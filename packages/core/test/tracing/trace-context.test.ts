import { describe, expect, it } from 'vitest';
import { readTraceContext } from '#core/protocol/index.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('a trace context', () => {
  it('is read from headers, with its state', () => {
    expect(readTraceContext({ traceparent: TRACEPARENT, tracestate: 'a=1,b=2', other: 'x' })).toEqual({
      traceparent: TRACEPARENT,
      tracestate: 'a=1,b=2',
    });
    expect(readTraceContext({ traceparent: TRACEPARENT })).toEqual({ traceparent: TRACEPARENT });
  });

  it('loses a state that is too long, and keeps the trace', () => {
    expect(readTraceContext({ traceparent: TRACEPARENT, tracestate: 'a='.padEnd(513, 'x') })).toEqual({
      traceparent: TRACEPARENT,
    });
  });

  it.each([
    ['nothing', undefined],
    ['another version', TRACEPARENT.replace('00-', '01-')],
    ['an empty trace id', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    ['an empty span id', `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`],
    ['upper case', TRACEPARENT.toUpperCase()],
    ['a line break', `${TRACEPARENT}\n`],
    ['two headers', `${TRACEPARENT}, ${TRACEPARENT}`],
    ['a list', [TRACEPARENT]],
  ])('is not there where the header holds %s', (_what, traceparent) => {
    expect(readTraceContext({ traceparent })).toBeUndefined();
  });

  it('is undefined without headers', () => {
    expect(readTraceContext(undefined)).toBeUndefined();
  });
});
