import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { MessageEntry } from '../../src/page/message-entry.tsx';

const markup = (role: 'assistant' | 'system') =>
  renderToStaticMarkup(
    createElement(MessageEntry, {
      item: { type: 'message', id: 'item_1', role, content: 'Nothing ran: a script begins with <tool-calls id="1">.' },
      onEdit: () => {},
    }),
  );

it('a message of the host to the model is not shown like an answer', () => {
  expect(markup('system')).toMatch(/^<details[^>]*><summary>Note to the model<\/summary>.*Nothing ran/su);
  expect(markup('assistant')).not.toContain('Note to the model');
});
