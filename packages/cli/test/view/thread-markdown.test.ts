import type { OutputItem } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { threadMarkdown } from '#cli/view/thread-markdown.js';

const thread = {
  threadId: 'thr_a',
  principal: 'local',
  title: 'A\n# title',
  workspace: '/w',
  createdAt: Date.parse('2026-01-02T03:04:05Z'),
  updatedAt: 0,
};

const document = (...items: OutputItem[]) =>
  threadMarkdown(thread, [{ turnId: 't', runId: 'r', state: 'completed', createdAt: 0, items }]);

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
