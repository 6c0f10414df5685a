import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { SandboxCall } from '../../src/protocol/index.js';
import { BuiltinAnswers } from '#core/calls/session/builtin-calls.js';
import type { CallResult } from '../../src/calls/facade/index.js';

const MEGABYTE = 1_048_576;
const call = (callIndex: number): SandboxCall => ({ callIndex, name: '$catalog', argsJson: '{}', line: 1, column: 1 });
const answerOf = (units: number) => (): CallResult => ({ ok: true, json: 'x'.repeat(units) });

function open() {
  const settled: { callIndex: number; result: CallResult }[] = [];
  const answers = new BuiltinAnswers(({ callIndex }, result) => settled.push({ callIndex, result }));
  return { settled, answers };
}

describe('answers of the catalog and of tasks', () => {
  it('are created only after the guest has received the earlier ones, however many a script requests', async () => {
    const { settled, answers } = open();
    let made = 0;
    for (let index = 0; index < 20; index++)
      answers.add(call(index), () => {
        made++;
        return answerOf(MEGABYTE)();
      });
    // Four million characters may wait; the answer that exceeds this limit is the last.
    expect(made).toBe(5);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(made).toBe(5);
    answers.delivered();
    for (let turn = 0; turn < 1_000 && settled.length < 10; turn++) await nextTurn();
    expect(made).toBe(10);
    expect(settled.map(({ callIndex }) => callIndex)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    answers.close();
  });

  it('have a maximum total per script: further ones are refused and not created', () => {
    const { settled, answers } = open();
    let made = 0;
    for (let index = 0; index < 5; index++) {
      answers.add(call(index), () => {
        made++;
        return answerOf(4 * MEGABYTE)();
      });
      answers.delivered();
    }
    answers.add(call(5), () => {
      made++;
      return answerOf(1)();
    });
    expect(made).toBe(5);
    expect(settled.at(-1)!.result).toMatchObject({ ok: false, error: { code: 'ToolBudgetExceededError' } });
  });
});
