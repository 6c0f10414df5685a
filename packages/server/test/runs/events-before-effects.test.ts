import { setTimeout as delay } from 'node:timers/promises';
import { createHarness, defineTool } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import type { EventLog } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { openTestServer } from '../support/test-server.js';
import { memoryEventLog, memoryStores } from '@toolscript/service/stores';

type Part = Extract<Scenario['turns'][number], { parts: unknown }>['parts'][number];

const SCRIPT = 'return await tools.mark({ tag: "a" })';

const byScript = (scriptId: string) => `"script_id":"${scriptId}"`;
// The id of the script that saves a structured call is derived from the names of the call.
const byCall = () => '"type":"item_done","item_id":"answer_';

const WAYS: readonly (readonly [string, 'text' | 'tool', Part, typeof byScript])[] = [
  ['a script in text', 'text', { type: 'script', code: SCRIPT }, byScript],
  ['a script in a tool call', 'tool', { type: 'call', name: 'run_script', arguments: { code: SCRIPT } }, byScript],
  ['a structured call', 'tool', { type: 'call', name: 'mark', arguments: { tag: 'a' } }, byCall],
];

it.each(WAYS)(
  '%s makes its first call with effects after the events that name it are stored',
  async (_way, carrier, part, named) => {
    const log = memoryEventLog({});
    let isNamed = false;
    const agent = defineAgent({ slug: 'marker', carrier, functions: 'all' });
    const turns = [{ parts: [part] }, { parts: [{ type: 'text' as const, text: 'Done.' }] }];
    const server = await openTestServer({
      stores: memoryStores({}),
      events: slowLog(log),
      agents: (parts) => {
        const mark = defineTool({
          name: 'mark',
          description: 'mark',
          effect: 'write',
          approval: 'never',
          input: z.object({ tag: z.string() }),
          execute: async (_input, { scriptId }) => {
            for (const { runId } of (await log.list()).runs)
              isNamed ||= JSON.stringify(await log.read(runId)).includes(named(scriptId!));
            return { tag: 'a' };
          },
        });
        const harness = createHarness({ ...parts, tools: [mark], typecheck: 'off' });
        const provider = scriptedModel({ turns });
        const open = async () => ({ agent, provider, harness });
        return [{ config: agent, capability: harness.capability, open, close: () => harness.close() }];
      },
    });
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'Go', agentId: 'marker' });
    const events = await server.follow(body.runId);
    await server.close();
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(isNamed).toBe(true);
  },
);

/** A log whose writes take longer than a script needs for its first call. */
function slowLog(log: EventLog): EventLog {
  return new Proxy(log, {
    get: (target, name: keyof EventLog) =>
      name === 'publish'
        ? async (...parameters: Parameters<EventLog['publish']>) => (await delay(60), target.publish(...parameters))
        : (target[name] as () => unknown).bind(target),
  });
}
