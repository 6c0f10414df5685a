import type { AddressInfo } from 'node:net';
import { memoryStore } from '@toolscript/core';
import { scriptedModel, type ScriptedModel } from '@toolscript/core/providers';
import type { Tool } from '@toolscript/core/protocol';
import { createServer, type Caller } from '@toolscript/server';
import { openEventLog, openStores } from '@toolscript/service/stores';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { cabinetTools, promptTools, storedTexts } from '../../../tools/dist/index.js';
import { SUSPENSION_KEY, testClient, TOKEN } from '../support/test-server.js';

const CALLERS: Readonly<Record<string, Caller>> = {
  ada: { principal: 'ada', scopes: ['read', 'run', 'approve'] },
  bob: { principal: 'bob', scopes: ['read', 'run', 'approve'] },
};

interface Opened {
  readonly model: ScriptedModel;
  /** Runs the next script of the model. Returns its events as text. */
  run(user: string): Promise<string>;
}

type Turns = Parameters<typeof scriptedModel>[0]['turns'];

/** A server of a program, with the tools of stored texts and an agent with sub-agents. */
async function open(turns: Turns): Promise<Opened> {
  const model = scriptedModel({ turns });
  const stores = await openStores('memory:');
  const events = await openEventLog('memory:');
  const library = { documents: stores.documents };
  const tools: Tool[] = [...cabinetTools(library), ...promptTools(library)];
  const app = await createServer({
    stores,
    events,
    scripts: memoryStore(),
    auth: { token: TOKEN, authenticate: (token: string) => CALLERS[token] },
    agents: [{ slug: 'leader', agents: {} }],
    harness: { ...sharedThreads(), tools, approvals: 'auto', suspensionKey: SUSPENSION_KEY },
    subAgents: storedTexts(library),
    provider: () => model,
    logger: false,
  });
  onTestFinished(async () => {
    await app.close();
    await events.close();
    await stores.close();
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const { call } = testClient(url);
  const run = async (user: string) => {
    const body = { prompt: 'Go.', agentId: 'leader' };
    const headers = { authorization: `Bearer ${user}` };
    const submitted = await call('POST', '/api/v2/submit', body, headers);
    expect(submitted.status).toBe(202);
    const stream = await fetch(`${url}/api/v2/stream/${submitted.body.runId}`, { headers });
    return stream.text();
  };
  return { model, run };
}

const text = (said: string) => ({ parts: [{ type: 'text' as const, text: said }] });
const script = (code: string) => ({ parts: [{ type: 'script' as const, code }] });

const SAVE = `await tools.prompts.save({ name: 'brief', text: 'A brief for {{reader}}.', scope: 'principal' });
  await tools.saveToFC({ name: 'notes.md', text: 'larks sing' });`;
const ASK = `{ prompt: 'brief', variables: { reader: 'Ada' }, fileKey: 'notes.md' }`;

describe('a model that a script of a library server asks', () => {
  it('reads a saved prompt with its variables, and a stored file, as a sub-agent does', async () => {
    const { model, run } = await open([
      script(`${SAVE} await tools.agents.llm.chat(${ASK});
        return (await tools.agents.launch.sync({ task: 'Summarise it.', fileKey: 'notes.md' })).answer;`),
      { ...text('A brief.'), aside: true },
      { ...text('Larks sing, it says.'), begins_anew: true },
      { ...text('Done.'), begins_anew: true },
    ]);
    const events = await run('ada');
    expect(model.violations).toEqual([]);
    expect(events).toContain('Larks sing, it says.');
    const file = String.raw`<file key=\"notes.md\">\nlarks sing\n</file>\n\n`;
    expect(JSON.stringify(model.requests[1])).toContain(`${file}A brief for Ada.`);
    expect(JSON.stringify(model.requests[2])).toContain(`${file}Summarise it.`);
  });

  it('finds no file of another thread, and no prompt of another user', async () => {
    const failing = `return (await tools.agents.llm.chat(REQUEST).catch(({ message }) => message));`;
    const { model, run } = await open([
      script(SAVE),
      text('Saved.'),
      { ...script(failing.replace('REQUEST', ASK)), begins_anew: true },
      text('None.'),
      { ...script(failing.replace('REQUEST', `{ text: 'Hi.', fileKey: 'notes.md' }`)), begins_anew: true },
      text('None.'),
    ]);
    await run('ada');
    expect(await run('bob')).toContain('There is no prompt');
    expect(await run('ada')).toContain('This conversation has no file');
    expect(model).toMatchObject({ turnsLeft: 0, violations: [] });
  });
});
