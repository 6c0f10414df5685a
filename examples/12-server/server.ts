import { defineTool } from '@toolscript/core';
import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import { createServer, type ServerOptions } from '@toolscript/server';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Pays an amount back',
  input: z.object({ invoice: z.number(), euros: z.number() }),
  output: z.object({ paid: z.boolean() }),
  effect: 'external',
  approval: 'always',
  execute: () => ({ paid: true }),
});

// In place of a model. Left out, an agent's `provider` names one: { api, model, apiKeyEnv }.
const scenario: Scenario = {
  turns: [
    { parts: [{ type: 'script', code: 'return await tools.refund({ invoice: 7, euros: 12.5 });' }] },
    { parts: [{ type: 'text', text: 'Invoice 7 is paid back.' }] },
  ],
};
const model = scriptedModel(scenario);

/** A server in memory, with one agent. */
export function openServer(options: Omit<ServerOptions, 'stores'>) {
  return createServer({
    stores: 'memory:', // or libsql:data/service.db, which outlives the process
    harness: { tools: [refund] },
    agents: [{ slug: 'accountant', description: 'Pays back what was paid twice' }],
    provider: () => model,
    ...options,
  });
}
