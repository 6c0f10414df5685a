import { setTimeout as delay } from 'node:timers/promises';
import { createHarness } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import type { ModelProvider } from '@toolscript/core/protocol';
import type { ServedAgent } from '@toolscript/server';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

const CONFIG = defineAgent({ slug: 'talker', carrier: 'text', provider: { api: 'openai-responses', model: 'talker' } });

/** An agent whose model writes a long text in chunks. Its prompt is `{ pieces, everyMs }` as JSON. */
export function talkingAgent(): ServedAgent & { close(): Promise<void> } {
  const harness = createHarness({ ...sharedThreads(), tools: [] });
  return {
    config: CONFIG,
    capability: harness.capability,
    open: async () => ({ agent: CONFIG, provider: talkingModel(), harness }),
    close: () => harness.close(),
  };
}

function talkingModel(): ModelProvider {
  return {
    api: 'openai-responses',
    model: 'talker',
    capabilities: { stopSequences: true, customTools: false },
    async *stream({ conversation }, { answerId = 'answer', signal } = {}) {
      const prompt = conversation.findLast((item) => item.type === 'message' && item.role === 'user');
      const { pieces, everyMs } = JSON.parse(prompt?.type === 'message' ? prompt.content : '') as Record<
        string,
        number
      >;
      const id = `${answerId}_0`;
      const isAborted = () => signal?.aborted === true;
      let content = '';
      yield { type: 'response_start' };
      yield { type: 'item_start', item_id: id, item_type: 'message' };
      for (let index = 0; index < pieces! && !isAborted(); index += 1) {
        await delay(everyMs);
        const delta = `piece ${index} ✓ of ${pieces}, `;
        content += delta;
        yield { type: 'item_delta', item_id: id, delta };
      }
      yield { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } };
      yield { type: 'response_done', status: 'completed' };
    },
  };
}
