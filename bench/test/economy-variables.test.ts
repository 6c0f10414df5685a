import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONVERSATIONS } from '../economy/conversations/index.mjs';
import { runConversation } from '../economy/conversations/run-conversation.mjs';
import { conversationSection } from '../economy/conversations/table.mjs';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

const PAGE = new URL('../../docs/explanation/economy.md', import.meta.url);
const RESULT = new URL('../results/economy-variables.json', import.meta.url);
const GENERATED = /(?<=<!-- generated economy-variables -->\n)[\s\S]*(?=<!-- end of economy-variables -->)/u;

interface Measured {
  readonly name: string;
  readonly ways: Readonly<Record<'separate' | 'one-program', object>>;
}

const result = JSON.parse(readFileSync(RESULT, 'utf8'));
const { conversations } = result.rows[0] as { conversations: readonly Measured[] };

describe('conversations about the same data', () => {
  it.each(CONVERSATIONS.map((conversation) => [conversation.name, conversation] as const))(
    'about %s make fewer calls with shared variables, or as many, in the same requests',
    async (_name, conversation) => {
      const separate = await runConversation(conversation, 'separate', sharedThreads());
      const shared = await runConversation(conversation, 'one-program', sharedThreads());
      expect(shared.turns).toBe(separate.turns);
      expect(shared.calls).toBeLessThanOrEqual(separate.calls);
      expect(shared.cost).toBeLessThanOrEqual(separate.cost);
    },
  );

  it('are refused if the value of a script is wrong', async () => {
    const [first] = CONVERSATIONS;
    const questions = first!.questions.map((question) => ({ ...question, value: 'another' }));
    await expect(runConversation({ ...first!, questions }, 'separate', sharedThreads())).rejects.toThrow('another');
  });

  it('have their figures on the page', () => {
    expect(conversations.map(({ name }) => name)).toEqual(CONVERSATIONS.map(({ name }) => name));
    const page = readFileSync(PAGE, 'utf8');
    const shown = page.replace(GENERATED, () => `\n${conversationSection(result)}\n`);
    if (process.env['UPDATE_DOCUMENTS'] !== undefined) writeFileSync(PAGE, shown);
    else expect(page).toBe(shown);
  });
});
