import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startScriptedServer, type ScriptedServer } from '@toolscript/core/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Place } from '../support/place.js';
import { serve, type Served } from './support/served.js';

const place = new Place();
let model: ScriptedServer;
let server: Served;

beforeAll(async () => {
  const code = "return await tools.writeFile({ path: 'notes/a.txt', content: 'a' });";
  const turns = [{ parts: [{ type: 'script' as const, code }] }, { parts: [{ type: 'text' as const, text: 'Done.' }] }];
  model = await startScriptedServer({ turns: [...turns, ...turns].map((turn) => ({ ...turn, begins_anew: true })) });
  const folder = join(place.base, 'config', 'toolscript', 'agents');
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(place.workspace, 'notes'));
  const provider = { api: 'openai-responses', model: 'any', baseUrl: model.baseUrl };
  writeFileSync(join(folder, 'writer.json'), JSON.stringify({ slug: 'writer', provider }));
  server = await serve(['--workspace', place.workspace], { env: place.env });
});

afterAll(async () => {
  await server.end();
  await model.close();
});

async function firstApproval(runId: string): Promise<{ approvalId: string }> {
  for (;;) {
    const { data } = await server.api(`approvals?runId=${runId}`);
    if (data.length > 0) return data[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('an approval for the workspace over HTTP', () => {
  it('applies to later runs of the server, as its rule said before', async () => {
    const { runId } = await server.api('submit', { prompt: 'write', agentId: 'writer' });
    const { approvalId } = await firstApproval(runId);
    const { covers } = await server.api(`approvals/${approvalId}/rule`);
    expect(covers).toContain('notes');
    await server.api(`approvals/${approvalId}`, { decision: 'approve', remember: 'workspace' });
    expect(await server.follow(runId)).toContain('"status":"completed"');
    expect((await server.api('rules')).data).toMatchObject([{ covers }]);
    const second = await server.api('submit', { prompt: 'write again', agentId: 'writer' });
    const events = await server.follow(second.runId);
    expect(events).toContain('"status":"completed"');
    expect(events).not.toContain('approval_requested');
  });
});
