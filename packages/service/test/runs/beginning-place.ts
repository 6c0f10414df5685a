import { createHarness, defineTool, type Harness } from '@toolscript/core';
import { defineAgent, type AgentInput } from '@toolscript/core/agent';
import {
  createProvider,
  startScriptedServer,
  type ProviderApi,
  type Scenario,
  type ScriptedServer,
} from '@toolscript/core/providers';
import type { HarnessMode } from '@toolscript/core/protocol';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ThreadRuns } from '#service/runs/index.js';
import { openDatabase, type OpenDatabase } from '#service/stores/index.js';
import { inputOf } from './thread-place.js';

/* The beginning of the requests of a thread: the system text and the tools as they were first sent. */

export const APIS = ['openai-responses', 'openai-chat', 'anthropic-messages'] as const;
export const WAYS: Readonly<Record<string, Partial<AgentInput>>> = {
  tool: { carrier: 'tool' },
  'tool and functions': { carrier: 'tool', functions: 'all' },
  custom: { carrier: 'custom' },
  text: { carrier: 'text' },
  disabled: { mode: 'disabled' },
};

export type Turn = Scenario['turns'][number];

export const said = (text: string): Turn => ({ parts: [{ type: 'text', text }] });
export const thought = (text: string): Turn => ({
  parts: [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text },
  ],
});
export const calls = (name: string): Turn => ({ parts: [{ type: 'call', name, arguments: {} }] });
export const runs = (code: string): Turn => ({ parts: [{ type: 'script', code }] });

export function someTool(name: string, members = 0) {
  const shape = Object.fromEntries(Array.from({ length: members }, (_, at) => [`m${at}`, z.string().optional()]));
  const execute = () => `from ${name}`;
  return defineTool({
    name,
    description: `Does ${name}.`,
    effect: 'read',
    approval: 'never',
    input: z.object(shape),
    execute,
  });
}

/** All that an operator may change between two prompts. */
interface Installation {
  readonly harness: Harness;
  agent: AgentInput;
  model: string;
}

export class Place {
  readonly installation: Installation;
  readonly #server: ScriptedServer;
  readonly #api: ProviderApi;
  readonly #database: OpenDatabase;
  #thread: string | undefined;

  private constructor(api: ProviderApi, server: ScriptedServer, database: OpenDatabase, agent: Partial<AgentInput>) {
    this.#api = api;
    this.#server = server;
    this.#database = database;
    const harness = createHarness({
      ...sharedThreads(),
      typecheck: 'off',
      tools: [someTool('first'), someTool('second')],
    });
    onTestFinished(() => harness.close());
    this.installation = { harness, agent: { slug: 'tester', ...agent }, model: 'model-1' };
  }

  static async open(api: ProviderApi, agent: Partial<AgentInput>, turns: Turn[]): Promise<Place> {
    const server = await startScriptedServer({ turns });
    onTestFinished(() => server.close());
    const database = await openDatabase('memory:');
    onTestFinished(() => database.close());
    return new Place(api, server, database, agent);
  }

  /** Says a prompt as a new process would. Returns the items before the prompt, as text, and the history's last item. */
  async say(prompt: string): Promise<{ announced: string; last: string }> {
    const { harness, agent, model } = this.installation;
    const provider = createProvider(this.#api, { model, baseUrl: this.#server.baseUrl, environment: {} });
    const { stores, log } = this.#database;
    const opened = { agent: defineAgent(agent), harness, provider, model };
    const settings = { stores, log, workspace: '/w', opened, onLost: expect.unreachable };
    const thread =
      this.#thread === undefined ? ThreadRuns.begin(settings) : await ThreadRuns.reopen(this.#thread, settings);
    this.#thread = thread.id;
    const events: Parameters<typeof inputOf>[0][number][] = [];
    await thread.say(prompt, { signal: new AbortController().signal, onEvent: (event) => events.push(event) });
    expect(this.#server.violations).toEqual([]);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    const texts = inputOf(events).map((item) => (item.type === 'message' ? item.content : item.type));
    return { announced: texts.slice(0, -1).join('\n'), last: JSON.stringify(thread.history.slice(-2)) };
  }

  get requests(): readonly Readonly<Record<string, unknown>>[] {
    return this.#server.requests as readonly Readonly<Record<string, unknown>>[];
  }

  /** The service has refused nothing, and each request begins with the one before it. */
  expectOneBeginning(): void {
    expect(this.#server.violations).toEqual([]);
    expect(this.#server.turnsLeft).toBe(0);
    const bytes = this.requests.map((body) => {
      const { system, instructions, tools, messages, input } = body;
      const list = (messages ?? input) as readonly unknown[];
      const text = [system, instructions, tools, ...list].map(withoutMarks);
      return text;
    });
    for (const [at, body] of bytes.entries())
      if (at > 0) expect(body.slice(0, bytes[at - 1]!.length)).toEqual(bytes[at - 1]);
  }
}

function withoutMarks(part: unknown): string | undefined {
  return JSON.stringify(part, (key, value: unknown) => (key === 'cache_control' ? undefined : value));
}

/** Every way in which an installation changes what a new thread would begin with. */
export const CHANGES: Readonly<Record<string, (installation: Installation, at: number) => void>> = {
  'a tool is added': ({ harness }, at) => harness.tools.add([someTool(`late${at}`)]),
  'a tool of a server is added': ({ harness }, at) => harness.tools.add([someTool(`server.late-${at}`)]),
  'a tool is removed': ({ harness }) => harness.tools.remove([harness.tools()[0]!.name]),
  'a tool changes': ({ harness }, at) => {
    const { name } = harness.tools().at(-1)!;
    harness.tools.replace([name], [someTool(name, (at % 5) + 1)]);
  },
  'all tools change places': ({ harness }) => {
    const tools = harness.tools();
    harness.tools.remove(tools.map(({ name }) => name));
    harness.tools.add(tools.toReversed());
  },
  'a removed tool comes back': ({ harness }) => {
    if (!harness.tools().some(({ name }) => name === 'first')) harness.tools.add([someTool('first')]);
  },
  'the instructions change': (installation, at) => change(installation, { instructions: `Be brief, ${at}.` }),
  'the offered functions change': (installation, at) =>
    change(installation, { functions: (['none', 'all', ['second']] as const)[at % 3] as AgentInput['functions'] }),
  'the room for instructions changes': (installation, at) =>
    change(installation, { instructionTokens: 1500 + (at % 2) * 1000 }),
  'the limits change': (installation, at) => change(installation, { limits: { maxToolCalls: 10 + at } }),
  'the end of answers changes': (installation, at) =>
    change(installation, { afterScript: at % 2 === 0 ? 'continue' : 'stop' }),
  'the mode changes to dry runs and back': (installation, at) => {
    if (installation.agent.mode !== 'disabled')
      change(installation, { mode: (at % 2 === 0 ? 'dry-run' : 'enabled') satisfies HarnessMode });
  },
  'the effort changes': (installation, at) =>
    change(installation, { reasoningEffort: at % 2 === 0 ? 'low' : 'high', maxOutputTokens: 4000 + at }),
};

export function change(installation: Installation, members: Partial<AgentInput>): void {
  installation.agent = { ...installation.agent, ...members };
}
