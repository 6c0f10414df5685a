import type { OutputItem } from '#core/protocol/index.js';
import { expect, it } from 'vitest';
import { threadMarkdown } from '#core/history/thread-markdown.js';

const thread = {
  title: 'A\n# title',
  workspace: '/w',
  createdAt: Date.parse('2026-01-02T03:04:05Z'),
};

const document = (...items: OutputItem[]) => threadMarkdown(thread, items);

it('a conversation is a document with its title, its date and the author of each message', () => {
  const text = document(
    { type: 'message', id: '1', role: 'user', content: 'Question' },
    { type: 'reasoning', id: '2', content: 'hm' },
    { type: 'message', id: '3', role: 'assistant', content: 'Answer\n' },
  );
  expect(text).toBe('# A # title\n\n2026-01-02 · /w\n\n## You\n\nQuestion\n\n## Assistant\n\nAnswer\n');
});

it('no fence in a script or a result ends its block', () => {
  const text = document({
    type: 'function_call_output',
    id: '1',
    call_id: 'c',
    output: '```\n````\n# no heading',
    success: true,
  });
  expect(text).toContain('`````\n```\n````\n# no heading\n`````\n');
});

it('a call that waits for a decision is below its script', () => {
  const script = { id: '1', call_id: 'c', script_id: 'scr_1', source_code: 'await tools.publish({})', language: 'ts' };
  const item = { type: 'script_execution', status: 'suspended', ...script } as unknown as OutputItem;
  const text = threadMarkdown(thread, [item], [{ tool: 'publish', callId: 'x', scriptId: 'scr_1', inputJson: '{}' }]);
  expect(text).toContain('Waits for a decision about `publish` (script `scr_1`):\n\n```json\n{}\n```');
});
