import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload, OutputItem } from '@toolscript/core/protocol';
import { newFolder } from '@toolscript/testkit/folder';
import { expect, it } from 'vitest';
import { openStores } from '#service/stores/index.js';
import { ownClaim } from '#service/runs/run-owner.js';

const LENGTH = 500_000;
const TURNS = 400;
/** Less than half of the thread, and enough for a process that runs agents. */
const HEAP_MB = 100;

const message = (id: string, role: 'user' | 'assistant', content: string): OutputItem => ({
  type: 'message',
  id,
  role,
  content,
});

const data = (id: string) => `${id} `.padEnd(LENGTH, 'x');

const METADATA = {
  duration_ms: 1,
  compute_ms: 1,
  approval_wait_ms: 0,
  tool_calls_made: 1,
  memory_used_mb: 1,
  cache_hit: false,
  compilation_cache_hit: false,
};

/** The data of a script, of which the model has read a report. */
function scriptOutput(id: string): OutputItem {
  const call = {
    call_id: `${id}_call`,
    tool: 'read',
    effect: 'read',
    status: 'completed',
    input: {},
    result: data(id),
    started_at_ms: 0,
    duration_ms: 1,
  };
  return {
    type: 'script_execution_output',
    id,
    call_id: id,
    status: 'completed',
    report: 'Done.',
    logs: [],
    operations: [call],
    metadata: METADATA,
  } as OutputItem;
}

/** The first half are answers that a summary replaces, the rest data of scripts. */
function outputOf(index: number): OutputItem[] {
  if (index >= TURNS / 2) return [scriptOutput(`item_${index}`)];
  const answer = message(`item_${index}`, 'assistant', data(String(index)));
  const summary = { type: 'compaction', id: `summary_${index}`, summary: 'Short.', tokens_before: 1 } as const;
  return index % 20 === 19 ? [answer, summary] : [answer];
}

it('a run in a thread of 200 MB works in a process with a heap of half that size', async () => {
  const url = `libsql:${newFolder()}/service.db`;
  const stores = await openStores(url);
  let threadId: string | undefined;
  for (let index = 0; index < TURNS; index += 1) {
    const input = [message(`prompt_${index}`, 'user', 'Go on.')];
    const thread = threadId === undefined ? { create: {} } : { threadId };
    const { run } = await stores.runs.create({ principal: 'ada', thread, input, claim: ownClaim() });
    threadId = run.threadId;
    const payloads: EventPayload[] = [
      { type: 'response_start', input },
      ...outputOf(index).map((item) => ({ type: 'item_done' as const, item_id: item.id, final_item: item })),
      { type: 'response_done', status: 'completed' },
    ];
    const envelopes = new EventEnvelopes(run, 0);
    await stores.threads.append(
      payloads.map((payload) => envelopes.next(payload)),
      { epoch: run.epoch },
    );
    await stores.runs.finish({ runId: run.runId, epoch: run.epoch }, { state: 'completed' });
  }
  await stores.close();
  const program = new URL('support/one-run.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, program, url, threadId!], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect([code, printed]).toEqual([0, 'completed']);
});
