import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { createHarness, type Harness, type HarnessOptions } from '#core/index.js';
import type { Outcome, ScriptFailure, StreamEvent } from '#core/protocol/index.js';
import { hasOwnThreads, sharedThreads } from '@toolscript/testkit/shared-threads';
import { sampleTools, type SampleTools } from './sample-tools.js';

/** A busy machine takes as long as it takes. */
const PATIENT = { queueWaitMs: 300_000 };

/**
 * A harness that is closed when the test has ended. If `workers` or `runtime` is set, it has separate threads. Its
 * scripts wait for their turns without a limit that matters, unless the options set one.
 */
export function openHarness(options: HarnessOptions): Harness {
  const limits = { ...PATIENT, ...options.limits };
  const harness = createHarness({ ...(hasOwnThreads(options) ? {} : sharedThreads()), ...options, limits });
  onTestFinished(() => harness.close());
  return harness;
}

/** The sample tools and a warm harness over them, for all tests of a file; closed after the last test. */
export function sharedHarness(): { sample: SampleTools; harness: Harness } {
  const sample = sampleTools();
  const harness = createHarness({ tools: sample.tools, approvals: 'deny', limits: PATIENT });
  beforeAll(() => harness.warm());
  afterAll(() => harness.close());
  return { sample, harness };
}

/** The value of a script that must have completed. */
export function valueOf(outcome: Outcome): unknown {
  if (outcome.status !== 'completed')
    expect.fail(
      `the script did not complete: ${JSON.stringify(outcome.status === 'failed' ? outcome.error : outcome.status)}`,
    );
  return outcome.value;
}

/** The failure of a script that must have failed. */
export function failureOf(outcome: Outcome): ScriptFailure {
  if (outcome.status !== 'failed') expect.fail(`the script did not fail: ${JSON.stringify(outcome)}`);
  return outcome.error;
}

export async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}
