import type { StreamEvent } from '../protocol/index.js';
import { RunTrace, type TracedRun, type TracingOptions } from './run-trace.js';

/**
 * Runs `run` with these options, such as `traceRun(runAgent, { provider, harness, agent, input })`, and creates its
 * spans: `invoke_agent`, below it a `chat` for each answer of the model, `execute_script` and `execute_tool`.
 * Requests to the model carry the trace context, and so does each event, as its `trace`. Works for `resumeRun` and
 * `recoverRun` too, and for any function that yields a run's events. Without an SDK, and without a `parent`, nothing
 * is changed.
 */
export async function* traceRun<Options extends TracedRun>(
  run: (options: Options) => AsyncIterable<StreamEvent>,
  options: Options,
  tracing: TracingOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const trace = RunTrace.start(options, tracing);
  if (trace === undefined) return yield* run(options);
  const { provider } = options;
  try {
    const traced = provider === undefined ? options : { ...options, provider: trace.model(provider) };
    for await (const event of run(traced)) yield trace.take(event);
  } catch (error) {
    trace.fail(error);
    throw error;
  } finally {
    trace.end();
  }
}

/** One part of a run, as `@toolscript/core/agent` makes it. */
interface TracedPart {
  readonly options: TracedRun & { readonly earlier?: readonly StreamEvent[] | undefined };
}

/** Like `traceRun`, for a host that takes each event when it is made: `perform` performs the part. */
export async function tracePart<Part extends TracedPart>(
  perform: (part: Part, take: (event: StreamEvent) => void) => Promise<void>,
  part: Part,
  take: (event: StreamEvent) => void,
  tracing: TracingOptions,
): Promise<void> {
  const { options } = part;
  const { agent, provider, earlier: events } = options;
  const trace = RunTrace.start({ agent, provider, events }, tracing);
  if (trace === undefined) return perform(part, take);
  const traced = provider === undefined ? options : { ...options, provider: trace.model(provider) };
  try {
    await perform({ ...part, options: traced }, (event) => take(trace.take(event)));
  } catch (error) {
    trace.fail(error);
    throw error;
  } finally {
    trace.end();
  }
}
