import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startScriptedServer, type ScriptedServer } from '@toolscript/core/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Place } from '../support/place.js';
import { serve, type Served } from './support/served.js';

const place = new Place();
const folder = join(place.base, 'config', 'toolscript', 'agents');
let model: ScriptedServer;
let server: Served;

beforeAll(async () => {
  const answer = {
    parts: [{ type: 'script' as const, code: "return await tools.readFile({ path: 'a.txt' });" }],
  };
  const end = { parts: [{ type: 'text' as const, text: 'Read.' }] };
  model = await startScriptedServer({ turns: [answer, end].map((turn) => ({ ...turn, begins_anew: true })) });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(place.workspace, 'a.txt'), 'the content');
  server = await serve(['--workspace', place.workspace], { env: place.env });
});

afterAll(async () => {
  await server.end();
  await model.close();
});

async function agentIds(): Promise<string[]> {
  return (await server.api('agents')).data.map(({ agentId }: { agentId: string }) => agentId);
}

function write(slug: string, more: object = {}): void {
  const provider = { api: 'openai-responses', model: 'any', baseUrl: model.baseUrl };
  writeFileSync(join(folder, `${slug}.json`), JSON.stringify({ slug, provider, ...more }));
}

describe('agents of a server', () => {
  it('appear and disappear with their files without a restart, and runs continue', async () => {
    expect(await agentIds()).not.toContain('reader');
    const slow = await server.api('submit', { prompt: 'slow 2', agentId: 'demo' });
    write('reader', { name: 'Reads', description: 'Reads files' });
    const { data } = await server.api('agents');
    expect(data.find(({ agentId }: { agentId: string }) => agentId === 'reader')).toMatchObject({
      name: 'Reads',
      description: 'Reads files',
      model: 'any',
      capabilities: { carrier: 'tool', maxTurns: 20 },
    });
    const { runId, threadId } = await server.api('submit', { prompt: 'read it', agentId: 'reader' });
    const events = await server.follow(runId);
    expect(events).toContain('the content');
    expect(events).toContain('"status":"completed"');
    rmSync(join(folder, 'reader.json'));
    expect(await agentIds()).not.toContain('reader');
    expect((await server.api('submit', { prompt: 'again', threadId })).detail).toContain('There is no agent "reader"');
    expect(await server.follow(slow.runId)).toContain('"status":"completed"');
  });

  it('that are invalid are reported at the terminal, and the others stay', async () => {
    write('broken', { maxTurns: -1 });
    expect(await agentIds()).toContain('demo');
    expect(await agentIds()).not.toContain('broken');
    expect(server.printed()).toContain('broken.json');
    rmSync(join(folder, 'broken.json'));
  });

  it('without a key end their runs with a message that names the variable to set', async () => {
    writeFileSync(
      join(folder, 'keyless.json'),
      JSON.stringify({ slug: 'keyless', provider: { api: 'openai-responses', model: 'any' } }),
    );
    const { runId } = await server.api('submit', { prompt: 'x', agentId: 'keyless' });
    expect(await server.follow(runId)).toContain('set OPENAI_API_KEY');
    expect(await server.api(`runs/${runId}`)).toMatchObject({
      status: 'failed',
      error: { code: 'AgentUnavailableError' },
    });
  });

  it('do not accept a scenario of this machine as a model from a request', async () => {
    write('reader');
    const answer = await server.api('submit', { prompt: 'x', agentId: 'reader', model: 'scripted:/etc/passwd' });
    expect(answer).toMatchObject({ status: 400, detail: expect.stringContaining('does not allow the model') });
  });
});
