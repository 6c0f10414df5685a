import { createHarness, defineTool, memoryStore, type Harness } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { ownIdentity } from '@toolscript/core/internal';
import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import type { ModelRequest } from '@toolscript/core/ports';
import type { ModelProvider, OutputItem, Run, RunFence, StreamEvent } from '@toolscript/core/protocol';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { ThreadRuns, type ScriptCommand } from '#service/runs/index.js';
import { openDatabase, type OpenDatabase } from '#service/stores/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { newFolder } from '@toolscript/testkit/folder';

type Turn = Scenario['turns'][number];

/** A data folder with conversations of one workspace, an agent whose tool `make` needs an approval, and its model. */
export class ThreadPlace {
  readonly #url = `libsql:${newFolder()}/service.db`;
  readonly #scripts = memoryStore();
  readonly #turns: Turn[] = [];
  readonly warnings: string[] = [];
  readonly requests: ModelRequest[] = [];
  /** The claims that the calls of `make` received. */
  readonly fences: (RunFence | undefined)[] = [];
  readonly harness: Harness;
  /** Called when the model is asked. */
  onAsked: () => Promise<void> = async () => {};

  constructor() {
    this.harness = this.openHarness();
  }

  async open(): Promise<OpenDatabase> {
    const database = await openDatabase(this.#url);
    onTestFinished(() => database.close());
    return database;
  }

  openHarness(): Harness {
    const make = defineTool({
      name: 'make',
      description: 'Makes it.',
      input: z.object({}),
      approval: 'always',
      execute: (_input, { fence }) => {
        this.fences.push(fence);
        return 'made';
      },
    });
    const harness = createHarness({ ...sharedThreads(), tools: [make], store: this.#scripts });
    onTestFinished(() => harness.close());
    return harness;
  }

  begin(database: OpenDatabase, harness?: Harness): ThreadRuns {
    return ThreadRuns.begin(this.#settings(database, undefined, harness));
  }

  reopen(database: OpenDatabase, id: string, instructions?: string): Promise<ThreadRuns> {
    return ThreadRuns.reopen(id, this.#settings(database, instructions));
  }

  #settings({ stores, log }: OpenDatabase, instructions = 'Be brief.', harness = this.harness) {
    const agent = defineAgent({ slug: 'coder', instructions });
    const opened = { agent, harness, provider: this.#model() };
    return { stores, log, workspace: '/w', opened, onLost: (reason: string) => void this.warnings.push(reason) };
  }

  /** Says a prompt, which the model answers with these turns. Returns the events of the run. */
  say(thread: ThreadRuns, prompt: string, ...answers: (string | Turn)[]): Promise<StreamEvent[]> {
    return this.#watched(answers, (watch) => thread.say(prompt, watch));
  }

  /** Has the conversation summarised by these turns. */
  compact(thread: ThreadRuns, ...answers: (string | Turn)[]): Promise<StreamEvent[]> {
    return this.#watched(answers, (watch) => thread.compact(watch));
  }

  /** Resumes a script, whose result the model answers with these turns. */
  resume(thread: ThreadRuns, command: Partial<ScriptCommand>, ...answers: (string | Turn)[]): Promise<StreamEvent[]> {
    const script = { scriptId: thread.waitingScript ?? '', decisions: {}, isInterrupted: false, force: true };
    return this.#watched(answers, (watch) => thread.resume({ ...script, ...command }, watch));
  }

  async #watched(answers: readonly (string | Turn)[], run: (watch: Watch) => Promise<void>): Promise<StreamEvent[]> {
    this.#turns.push(...answers.map((turn) => (typeof turn === 'string' ? answer(turn) : turn)));
    const events: StreamEvent[] = [];
    await run({ signal: new AbortController().signal, onEvent: (event) => events.push(event) });
    return events;
  }

  #model(): ModelProvider {
    const { api, model, capabilities } = scriptedModel({ turns: [] });
    const { requests } = this;
    const played = (request: ModelRequest) => {
      requests.push(request);
      return scriptedModel({ turns: this.#turns.splice(0, 1) });
    };
    const asked = () => this.onAsked();
    return {
      api,
      model,
      capabilities,
      async *stream(request, options) {
        await asked();
        yield* played(request).stream(request, options);
      },
    };
  }
}

interface Watch {
  readonly signal: AbortSignal;
  readonly onEvent: (event: StreamEvent) => void;
}

function answer(text: string): Turn {
  return { parts: [{ type: 'text', text }] };
}

/** An answer with a script that calls `make` so many times at once. */
export function making(calls = 1): Turn {
  const code = `return await Promise.all([${'tools.make({}),'.repeat(calls)}])`;
  return {
    parts: [
      { type: 'text', text: 'I ask.' },
      { type: 'script', code },
    ],
  };
}

/** The messages of users and models. */
export function texts({ history }: ThreadRuns): string[] {
  return history.flatMap((item) => (item.type === 'message' && item.role !== 'system' ? [item.content] : []));
}

export function inputOf(events: readonly StreamEvent[]): readonly OutputItem[] {
  const [first] = events;
  return (first?.payload.type === 'response_start' && first.payload.input) || [];
}

export async function runsOf({ stores }: OpenDatabase, threadId: string): Promise<Run[]> {
  return [...(await stores.runs.list({ threadId })).runs];
}

const { instance: _instance, ...own } = ownIdentity();

/** Other processes that hold a run: a live one, a dead one, and one whose state is unknown. */
export const OTHERS = {
  living: JSON.stringify({ ...own, instance: 'other' }),
  dead: JSON.stringify({ ...own, instance: 'other', startTime: '1' }),
  unknown: JSON.stringify({ ...own, instance: 'other', bootId: 'another boot' }),
};
