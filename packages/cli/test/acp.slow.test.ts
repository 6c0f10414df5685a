import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  client,
  ndJsonStream,
  type ClientContext,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { Scene, script, text, type Turn } from './chat/scene.js';
import { cleanEnvironment, PROGRAM } from './support/program.js';

const WRITE = `return await tools.writeFile({ path: 'a.txt', content: 'one\\ntwo\\n' })`;

type Answer = (request: RequestPermissionRequest) => RequestPermissionResponse | Promise<RequestPermissionResponse>;

/** An editor, which is the official client library, connected to the real program. */
class Editor {
  readonly updates: SessionUpdate[] = [];
  readonly questions: RequestPermissionRequest[] = [];

  constructor(
    readonly scene: Scene,
    readonly answer: Answer = () => selected('allow'),
  ) {}

  async use<Value>(turns: readonly Turn[], act: (agent: ClientContext) => Promise<Value>): Promise<Value> {
    const { scene } = this;
    const child = spawn(process.execPath, [PROGRAM, 'acp', ...scene.model(...turns)], {
      env: cleanEnvironment(scene.env),
      cwd: scene.base,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    );
    const app = client({ name: 'test' })
      .onNotification('session/update', ({ params }) => void this.updates.push(params.update))
      .onRequest('session/request_permission', async ({ params }) => {
        this.questions.push(params);
        return this.answer(params);
      });
    try {
      return await app.connectWith(stream, async (agent) => {
        await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
        return act(agent);
      });
    } finally {
      child.stdin.end();
      expect(await ended).toBe(0);
    }
  }

  newSession(agent: ClientContext) {
    return agent.request('session/new', { cwd: this.scene.workspace, mcpServers: [] });
  }

  /** The text of the messages of one kind. */
  text(kind: 'agent_message_chunk' | 'user_message_chunk'): string {
    return this.updates
      .map((update) => (update.sessionUpdate === kind && update.content.type === 'text' ? update.content.text : ''))
      .join('');
  }

  ofKind<Kind extends SessionUpdate['sessionUpdate']>(kind: Kind) {
    return this.updates.filter(
      (update): update is SessionUpdate & { sessionUpdate: Kind } => update.sessionUpdate === kind,
    );
  }
}

function selected(optionId: string): RequestPermissionResponse {
  return { outcome: { outcome: 'selected', optionId } };
}

function prompt(words: string) {
  return [{ type: 'text' as const, text: words }];
}

describe('an editor', () => {
  it('gets the answer, the calls, a diff and the plan of a prompt', async () => {
    const editor = new Editor(new Scene());
    writeFileSync(join(editor.scene.workspace, 'a.txt'), 'one\nTWO\n');
    const plan = `await tools.updatePlan({ plan: [{ step: 'Write the file', status: 'in_progress' }] });`;
    const response = await editor.use([script(`${plan} ${WRITE}`, 'I write.'), text('Done.')], async (agent) => {
      const { sessionId } = await editor.newSession(agent);
      return agent.request('session/prompt', { sessionId, prompt: prompt('Write it.') });
    });
    expect(response).toEqual({ stopReason: 'end_turn' });
    expect(editor.text('agent_message_chunk')).toBe('I write.Done.');
    expect(editor.questions).toHaveLength(1);
    const path = join(editor.scene.workspace, 'a.txt');
    expect(editor.questions[0]?.toolCall).toMatchObject({
      kind: 'edit',
      content: [{ type: 'diff', path, oldText: 'one\nTWO', newText: 'one\ntwo' }],
    });
    expect(editor.ofKind('plan')[0]?.entries).toMatchObject([{ content: 'Write the file', status: 'in_progress' }]);
    const ended = editor.ofKind('tool_call_update').filter(({ status }) => status === 'completed');
    expect(ended).toContainEqual(
      expect.objectContaining({
        content: [{ type: 'diff', path, oldText: 'one\nTWO\n', newText: 'one\ntwo\n' }],
      }),
    );
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
  });

  it('refuses a call', async () => {
    const editor = new Editor(new Scene(), () => selected('refuse'));
    await editor.use([script(WRITE), text('Refused.')], async (agent) => {
      const { sessionId } = await editor.newSession(agent);
      await agent.request('session/prompt', { sessionId, prompt: prompt('Write it.') });
    });
    expect(editor.text('agent_message_chunk')).toBe('Refused.');
    expect(() => readFileSync(join(editor.scene.workspace, 'a.txt'))).toThrow('ENOENT');
  });

  it('that cancels a question leaves the script waiting, loads the conversation, and decides then', async () => {
    let agentOfPrompt: ClientContext | undefined;
    const editor = new Editor(new Scene(), async ({ sessionId }) => {
      await agentOfPrompt?.notify('session/cancel', { sessionId });
      return { outcome: { outcome: 'cancelled' } };
    });
    const { sessionId, response } = await editor.use([script(WRITE)], async (agent) => {
      agentOfPrompt = agent;
      const opened = await editor.newSession(agent);
      const answered = await agent.request('session/prompt', {
        sessionId: opened.sessionId,
        prompt: prompt('Write it.'),
      });
      return { sessionId: opened.sessionId, response: answered };
    });
    expect(response).toEqual({ stopReason: 'cancelled' });

    const later = new Editor(editor.scene);
    await later.use([text('Written.')], async (agent) => {
      const { sessions } = await agent.request('session/list', { cwd: editor.scene.workspace });
      expect(sessions.map((session) => session.sessionId)).toEqual([sessionId]);
      await agent.request('session/load', { sessionId, cwd: editor.scene.workspace, mcpServers: [] });
      expect(later.text('user_message_chunk')).toBe('Write it.');
      expect(later.text('agent_message_chunk')).toContain('/resume');
      return agent.request('session/prompt', { sessionId, prompt: prompt('/resume') });
    });
    expect(later.text('agent_message_chunk')).toContain('Written.');
    expect(readFileSync(join(editor.scene.workspace, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('cancels a running script', async () => {
    const editor = new Editor(new Scene());
    const response = await editor.use([script('await sleep(60_000)')], async (agent) => {
      const { sessionId } = await editor.newSession(agent);
      const answered = agent.request('session/prompt', { sessionId, prompt: prompt('Wait.') });
      while (editor.ofKind('tool_call').length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await agent.notify('session/cancel', { sessionId });
      return answered;
    });
    expect(response).toEqual({ stopReason: 'cancelled' });
  });

  it('reads that a session does not exist', async () => {
    const editor = new Editor(new Scene());
    const failed = editor.use([], (agent) =>
      agent.request('session/load', { sessionId: 'thr_none', cwd: editor.scene.workspace, mcpServers: [] }),
    );
    await expect(failed).rejects.toMatchObject({ code: -32_002 });
  });
});
