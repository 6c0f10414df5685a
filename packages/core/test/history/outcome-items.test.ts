import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { outcomeToOutputItem } from '#core/history/index.js';
import { toSnakeCase } from '#core/protocol/spelling.js';
import { boundedJson } from '#core/history/bounded-text.js';
import { ItemErrorSchema, OperationItemSchema, ScriptExecutionOutputItemSchema } from '#core/protocol/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { anyOutcome, completed, failed, operation, suspended } from './arbitrary-outcomes.js';

const identity = { id: 'item_1', callId: 'call_9' };

describe('an outcome as an item', () => {
  test('is valid by its schema, and survives JSON', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const item = outcomeToOutputItem(outcome, identity);
        expect(ScriptExecutionOutputItemSchema.parse(item)).toEqual(item);
        const again = JSON.parse(JSON.stringify(item)) as typeof item;
        expect(Object.keys(again)).toEqual(Object.keys(item));
        expect(again.operations.map((entry) => Object.keys(entry))).toEqual(
          item.operations.map((entry) => Object.keys(entry)),
        );
      }),
      { numRuns: tries(500) },
    );
  });

  test('carries value, JSON text and every field in snake_case', () => {
    const outcome = completed(
      { message: 'all good', snakeMe: { notMe: 1 } },
      {
        output: 'said',
        logs: [{ level: 'warn', text: 'careful', atMs: 5 }],
        operations: [operation()],
        diagnostics: [{ severity: 'warning', message: 'm', code: 'floating-promise', line: 2 }],
      },
    );
    expect(outcomeToOutputItem(outcome, identity)).toStrictEqual({
      type: 'script_execution_output',
      id: 'item_1',
      call_id: 'call_9',
      script_id: 'script_1',
      status: 'completed',
      result: { message: 'all good', snakeMe: { notMe: 1 } },
      output_json: '{"message":"all good","snakeMe":{"notMe":1}}',
      summary: 'all good',
      output: 'said',
      logs: [{ level: 'warn', text: 'careful', at_ms: 5 }],
      operations: [
        {
          call_id: 'call_1',
          tool: 'readFile',
          input: { path: 'a.txt' },
          effect: 'read',
          status: 'completed',
          result: { content: 'x' },
          started_at_ms: 1,
          duration_ms: 2,
          line: 3,
        },
      ],
      diagnostics: [{ severity: 'warning', message: 'm', code: 'floating-promise', line: 2 }],
      metadata: {
        duration_ms: 12,
        compute_ms: 3,
        approval_wait_ms: 4,
        tool_calls_made: 2,
        memory_used_mb: 1.5,
        cache_hit: true,
        compilation_cache_hit: false,
        runtime: 'quickjs',
      },
    });
  });

  test('of a script without a return is null', () => {
    expect(outcomeToOutputItem(completed(undefined), identity)).toMatchObject({ result: null, output_json: 'null' });
  });

  test('has a summary only if value.message is a string', () => {
    for (const value of [{ message: 5 }, 'message', null, [1], { other: 'x' }]) {
      expect(outcomeToOutputItem(completed(value), identity)).not.toHaveProperty('summary');
    }
    expect(outcomeToOutputItem(completed({ message: '' }), identity)).toMatchObject({ summary: '' });
  });

  test('of a suspended script carries neither the suspension nor a result', () => {
    const item = outcomeToOutputItem(suspended({ operations: [operation({ status: 'awaiting_approval' })] }), identity);
    expect(item).toMatchObject({ status: 'suspended', operations: [{ status: 'awaiting_approval' }] });
    expect(JSON.stringify(item)).not.toContain('sealed-bytes');
    for (const absent of ['result', 'output_json', 'error', 'summary']) expect(item).not.toHaveProperty(absent);
  });

  test('of a failed script contains the completed results, in call order', () => {
    const outcome = failed(
      {},
      {
        operations: [
          operation({ callId: 'c1', result: { n: 1 } }),
          operation({ callId: 'c2', status: 'failed', error: { code: 'ToolExecutionError', message: 'no' } }),
          operation({ callId: 'c3', resultOmitted: true, result: undefined }),
          operation({ callId: 'c4', result: undefined }),
        ],
      },
    );
    const item = outcomeToOutputItem(outcome, identity);
    expect(JSON.parse(item.output_json!)).toEqual({
      partialResults: [
        { tool: 'readFile', call_id: 'c1', result: { n: 1 } },
        { tool: 'readFile', call_id: 'c3', result_omitted: true },
        { tool: 'readFile', call_id: 'c4', result: null },
      ],
    });
    expect(item.error).toMatchObject({ code: 'ScriptRuntimeError', message: 'boom' });
    expect(item).not.toHaveProperty('result');
  });

  test('limits the partial results and marks the omitted ones', () => {
    const big = 'x'.repeat(100_000);
    const huge = [
      operation({ callId: 'c1', result: big }),
      operation({ callId: 'c2', result: big }),
      operation({ callId: 'c3', result: 'small' }),
    ];
    const json = outcomeToOutputItem(failed({}, { operations: huge }), identity).output_json!;
    expect(JSON.parse(json)).toEqual({
      partialResults: [
        { tool: 'readFile', call_id: 'c1', result: big },
        { tool: 'readFile', call_id: 'c2', result_omitted: true },
        { tool: 'readFile', call_id: 'c3', result: 'small' },
      ],
    });
    const many = Array.from({ length: 10_000 }, (_, index) => operation({ callId: `c${index}` }));
    const manyJson = outcomeToOutputItem(failed({}, { operations: many }), identity).output_json!;
    expect(manyJson.length).toBeLessThanOrEqual(131_072);
    const parsed = JSON.parse(manyJson) as { partialResults: unknown[]; omitted: number };
    expect(parsed.partialResults.length).toBeGreaterThan(1000);
    expect(parsed.partialResults.length + parsed.omitted).toBe(10_000);
  });
});

test('an operation keeps user data unchanged and omits absent members', () => {
  const item = toSnakeCase(
    operation({
      status: 'failed',
      input: { camelCase: 1 },
      result: undefined,
      line: undefined,
      error: { code: 'ToolExecutionError', message: 'no' },
    }),
  );
  expect(OperationItemSchema.parse(item)).toEqual(item);
  expect(Object.keys(item).toSorted()).toEqual([
    'call_id',
    'duration_ms',
    'effect',
    'error',
    'input',
    'started_at_ms',
    'status',
    'tool',
  ]);
  expect(item.input).toEqual({ camelCase: 1 });
});

test('a failure carries all of its fields in snake_case, its metadata as it is', () => {
  const failure = {
    code: 'ToolExecutionError',
    message: 'm',
    phase: 'executing',
    line: 1,
    column: 2,
    toolName: 'exec',
    callId: 'c',
    stack: 's',
    frame: 'f',
    hint: 'h',
    retryable: true,
    metadata: { exitCode: 1 },
  } as const;
  const item = toSnakeCase(failure);
  expect(ItemErrorSchema.parse(item)).toEqual(item);
  const { toolName, callId, ...same } = failure;
  expect(item).toStrictEqual({ ...same, tool_name: toolName, call_id: callId });
});

describe('bounded JSON', () => {
  test('is the JSON text of plain data, or its beginning if it does not fit', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(80), (value, maxLength) => {
        const json = JSON.stringify(value);
        const { text, complete } = boundedJson(value, maxLength);
        expect(complete).toBe(json.length <= maxLength);
        expect(text.length).toBeLessThanOrEqual(maxLength);
        // If a string exceeds the limit, the reader may unescape its end differently, but never its beginning.
        expect(json.startsWith(complete ? text : text.slice(0, -1))).toBe(true);
      }),
      { numRuns: tries(1000) },
    );
  });

  test('never throws, whatever its input', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(boundedJson(cycle, 1_000_000).complete).toBe(false);
    expect(boundedJson([1n, Symbol('s'), () => 1, Number.NaN, undefined, { gone: undefined }], 100).text).toBe(
      '[null,null,null,null,null,{}]',
    );
    expect(boundedJson(JSON.parse('{"__proto__":1}'), 100).text).toBe('{"__proto__":1}');
  });
});
