import { describe, expect, it } from 'vitest';
import { sinceCompaction } from '#core/agent/compaction.js';
import { programScope, scopeLine } from '#core/history/index.js';
import type { OutputItem, ScriptExecutionOutputItem } from '#core/protocol/index.js';

let count = 0;

/** The output of a script of a program. */
function output(change: Partial<ScriptExecutionOutputItem>): OutputItem {
  count += 1;
  const names = { type: 'script_execution_output', id: `item_${count}`, call_id: `call_${count}` } as const;
  const metadata = { duration_ms: 1 } as unknown as ScriptExecutionOutputItem['metadata'];
  return { ...names, status: 'completed', logs: [], operations: [], metadata, ...change };
}

const rows = { name: 'rows', type: 'Row[]' };
const total = { name: 'total', type: 'number' };
const said: OutputItem = { type: 'message', id: 'item_said', role: 'user', content: 'hello' };

const note = (code: string) => [{ severity: 'warning' as const, code, message: '' }];

describe('the program of a conversation', () => {
  it('is that of its last script, and names all variables once, with their newest types', () => {
    const items = [
      said,
      output({ heap: 'heap_1', scope: [rows, total] }),
      output({ heap: 'heap_2', scope: [{ name: 'rows', type: 'string[]' }] }),
    ];
    expect(programScope(items)).toEqual({ heap: 'heap_2', scope: [total, { name: 'rows', type: 'string[]' }] });
  });

  it('stays as it was after a script whose variables are lost', () => {
    const items = [
      output({ heap: 'heap_1', scope: [rows] }),
      output({ status: 'failed', heap: 'heap_1', diagnostics: note('variables-restored') }),
      output({}),
    ];
    expect(programScope(items)).toEqual({ heap: 'heap_1', scope: [rows] });
  });

  it('begins anew after its variables were dropped or deleted', () => {
    const begun = output({ heap: 'heap_1', scope: [rows] });
    const dropped = output({ heap: 'heap_2', scope: [total], diagnostics: note('variables-dropped') });
    expect(programScope([begun, dropped])).toEqual({ heap: 'heap_2', scope: [total] });
    const error = { code: 'HeapNotFoundError', message: '' } as unknown as ScriptExecutionOutputItem['error'];
    expect(programScope([begun, output({ status: 'failed', error })])).toEqual({ heap: undefined, scope: [] });
  });

  it('is empty without scripts that share their variables', () => {
    expect(programScope([said, output({})])).toEqual({ heap: undefined, scope: [] });
  });
});

describe('the line about what is in scope', () => {
  it('shows a function like a declaration, a class by its name, and a long type in one short line', () => {
    const long = Array.from({ length: 200 }, (_, index) => `member${index}: string;`).join('\n');
    const line = scopeLine([
      rows,
      { name: 'report', type: '(city: string, all?: boolean) => Promise<string>' },
      { name: 'Ledger', type: 'typeof Ledger' },
      { name: 'big', type: `{\n${long}\n}` },
    ]);
    expect(line).toContain(
      'In scope for your next script: rows: Row[], report(city: string, all?: boolean): Promise<string>, Ledger, big: {',
    );
    expect(line).not.toContain('\n');
    expect(line.length).toBeLessThan(1_000);
  });
});

describe('a summary of a conversation', () => {
  const compaction: OutputItem = { type: 'compaction', id: 'item_c', summary: 'so far', tokens_before: 9 };

  it('names everything in scope once', () => {
    const before = [output({ heap: 'heap_1', scope: [rows] }), output({ heap: 'heap_2', scope: [total] })];
    const after = output({ heap: 'heap_3', scope: [{ name: 'later', type: 'string' }] });
    const [summary, ...rest] = sinceCompaction([...before, compaction, after]);
    expect((summary as { content: string }).content).toContain(
      'In scope for your next script: rows: Row[], total: number',
    );
    expect((summary as { content: string }).content).not.toContain('later');
    expect(rest).toEqual([after]);
  });

  it('names nothing if scripts share nothing', () => {
    const [summary] = sinceCompaction([output({}), compaction]);
    expect((summary as { content: string }).content).not.toContain('In scope');
  });
});
