import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { recoverRun } from '#core/agent/index.js';
import { foldResponse } from '#core/history/index.js';
import { createProvider, startScriptedServer } from '#core/providers/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { collect } from './cast.js';
import { essences, openWorld } from './running.js';

const PROCESS = fileURLToPath(new URL('background-process.mjs', import.meta.url));

/** Starts the run in a process, and kills the process when it has written an event of this type. */
async function killedRun(baseUrl: string, type: string): Promise<StreamEvent[]> {
  const child = spawn(process.execPath, [PROCESS, baseUrl], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const events: StreamEvent[] = [];
  for await (const line of createInterface(child.stdout)) {
    events.push(JSON.parse(line) as StreamEvent);
    if (events.at(-1)!.payload.type === type) break;
  }
  child.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  return events;
}

test.each(['background_answer', 'item_done'])(
  'a run that is killed after its %s finds its background answer again, and asks for none twice',
  async (type) => {
    const parts = [
      { type: 'reasoning' as const, text: 'This takes long.' },
      { type: 'wait' as const, ms: 3000 },
      { type: 'text' as const, text: 'At last.' },
    ];
    const server = await startScriptedServer({ turns: [{ parts }] });
    onTestFinished(() => server.close());
    const { baseUrl } = server;
    const events = await killedRun(baseUrl, type);
    const provider = createProvider('openai-responses', { model: 'model-1', baseUrl, environment: {} });
    const run = { provider, harness: openWorld().harness, agent: { slug: 'tester' } };
    const rest = await collect(recoverRun({ ...run, events, force: true }));
    const { status, output_items: items } = foldResponse([...events, ...rest]);
    expect(status).toBe('completed');
    expect(essences(items)).toEqual(['reasoning: This takes long.', 'assistant: At last.']);
    expect(server.violations).toEqual([]);
    expect(server.requests).toHaveLength(1);
  },
);
