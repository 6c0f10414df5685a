import { programScope, scriptOrigin } from '@toolscript/core/history';
import type { OutputItem } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { sinceCompaction } from '#core/agent/compaction.js';
import { addNeeded } from '#core/agent/needed-items.js';
import { scriptReport } from '#core/providers/result-text.js';

const HUGE = 'x'.repeat(100_000);

const message = (id: string, role: 'user' | 'assistant' | 'system', content: string, more: object = {}) =>
  ({ type: 'message', id, role, content, ...more }) as OutputItem;

const summary = (id: string) =>
  ({ type: 'compaction', id, summary: id, tokens_before: 1, last_message: 'said', untrusted: true }) as OutputItem;

function output(id: string, more: object = {}): OutputItem {
  const operation = { call_id: `${id}_call`, tool: 'read', effect: 'read', status: 'completed', input: HUGE };
  return {
    type: 'script_execution_output',
    id,
    call_id: id,
    status: 'completed',
    result: HUGE,
    output_json: HUGE,
    output: HUGE,
    report: `Report of ${id}`,
    logs: [{ level: 'log', text: HUGE, at_ms: 1 }],
    operations: [
      { ...operation, result: HUGE },
      { ...operation, call_id: `${id}_other`, result: HUGE, untrusted: true },
    ],
    metadata: {},
    ...more,
  } as unknown as OutputItem;
}

/** Turns with all that a later run may need, and much that it does not. */
function turns(name: string): OutputItem[] {
  return [
    message(`${name}_announced`, 'system', name, { announces: 'changes' }),
    message(`${name}_prompt`, 'user', `${name} ${'word '.repeat(1_000)}<attached-file name="a">${HUGE}`),
    message(`${name}_answer`, 'assistant', HUGE),
    output(`${name}_output`, { heap: name, scope: [{ name, type: 'string' }] }),
    output(`${name}_plain`),
  ];
}

/** Three summaries, and turns after the last one. */
function conversation(): OutputItem[] {
  const names = Array.from({ length: 40 }, (_, index) => `turn${index}`);
  return names.flatMap((name, index) => [...turns(name), ...(index % 12 === 11 ? [summary(`summary${index}`)] : [])]);
}

/** In pages of three items. */
function needed(items: readonly OutputItem[]): OutputItem[] {
  let kept: OutputItem[] = [];
  for (let at = 0; at < items.length; at += 3) kept = addNeeded(kept, items.slice(at, at + 3));
  return kept;
}

/** The texts that a model reads. */
function read(items: readonly OutputItem[]): unknown[] {
  return sinceCompaction(items).map((item) =>
    item.type === 'script_execution_output' ? [item.id, scriptReport(item)] : item,
  );
}

describe('what a run needs of a conversation', () => {
  it('has everything that the model reads, the variables, and the facts about guarded arguments', () => {
    const items = conversation();
    const kept = needed(items);
    expect(read(kept)).toEqual(read(items));
    expect(programScope(kept)).toEqual(programScope(items));
    expect(scriptOrigin(kept)).toEqual(scriptOrigin(items));
  });

  it('has little of what is before the last summary, and no data of scripts with a report', () => {
    const items = conversation();
    const kept = needed(items);
    const before = kept.slice(
      0,
      kept.findLastIndex(({ type }) => type === 'compaction'),
    );
    expect(JSON.stringify(before).length).toBeLessThan(6 * HUGE.length);
    const outputs = kept.filter(({ type }) => type === 'script_execution_output');
    expect(JSON.stringify(outputs).length).toBeLessThan(HUGE.length);
  });

  it('has the data of a script without a report, which the model reads instead', () => {
    const plain = output('a', { report: undefined });
    expect(addNeeded([], [plain])).toEqual([plain]);
  });
});
