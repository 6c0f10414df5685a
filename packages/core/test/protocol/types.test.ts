import { createHarness, type Outcome, type StreamEvent } from '@toolscript/core';
import { expect, expectTypeOf, it } from 'vitest';

// `npm run check` compiles this file: an expected error that does not occur fails there.

it('a misspelled member of an event does not compile, and a right one has its type', async () => {
  const events: StreamEvent[] = [];
  const harness = createHarness({ tools: [], onEvent: (event) => events.push(event) });
  await harness.runScript('console.log("here")');
  await harness.close();
  for (const { payload } of events) {
    if (payload.type === 'tool_call_done') {
      expectTypeOf(payload.operation.status).not.toBeAny();
      // @ts-expect-error: the member is `operation`
      void payload.operationn;
      // @ts-expect-error: the member is `call_id`
      void payload.operation.callId;
    }
    if (payload.type === 'response_start') {
      // @ts-expect-error: this event has no item
      expect(payload.item_id).toBeUndefined();
    }
  }
  const levels = events.flatMap(({ payload }) => (payload.type === 'script_log' ? [payload.level] : []));
  expect(levels).toEqual(['log']);
});

it("a script's value has the type that the host names, and is unknown without one", async () => {
  const harness = createHarness({ tools: [] });
  const named = await harness.runScript<{ sum: number }>('return { sum: 42 }');
  const failed = await harness.runScript<number>('throw new Error("no")');
  const unnamed: Outcome = await harness.runScript('return 1');
  await harness.close();
  expectTypeOf(named.value).toEqualTypeOf<{ sum: number } | undefined>();
  expectTypeOf(failed.value).toEqualTypeOf<number | undefined>();
  expectTypeOf(unnamed.value).toBeUnknown();
  if (named.status === 'completed') expectTypeOf(named.value.sum).toBeNumber();
  expect(named.value?.sum).toBe(42);
  expect(failed.value).toBeUndefined();
  expect(unnamed.value).toBe(1);
});

it('every member that a status of an outcome lacks is declared on it as undefined', async () => {
  const harness = createHarness({ tools: [] });
  const outcome = await harness.runScript('throw new Error("no")');
  await harness.close();
  if (outcome.status === 'completed') {
    expectTypeOf(outcome.error).toEqualTypeOf<undefined>();
    expectTypeOf(outcome.suspension).toEqualTypeOf<undefined>();
    expectTypeOf(outcome.pendingApprovals).toEqualTypeOf<undefined>();
  }
  if (outcome.status === 'failed') {
    expectTypeOf(outcome.value).toEqualTypeOf<undefined>();
    expectTypeOf(outcome.suspension).toEqualTypeOf<undefined>();
    expectTypeOf(outcome.pendingApprovals).toEqualTypeOf<undefined>();
  }
  if (outcome.status === 'suspended') {
    expectTypeOf(outcome.value).toEqualTypeOf<undefined>();
    expectTypeOf(outcome.error).toEqualTypeOf<undefined>();
  }
  expect(outcome.error?.code).toBe('ScriptRuntimeError');
});
