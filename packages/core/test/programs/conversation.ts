import { afterAll } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, type Harness, type HarnessOptions, type Outcome } from '#core/index.js';
import type { RunScriptOptions } from '#core/harness/harness-types.js';
import { renderOutcomeForModel } from '#core/history/index.js';

const double = defineTool({
  name: 'math.double',
  description: 'Doubles a number',
  input: z.object({ n: z.number() }),
  output: z.number(),
  approval: 'never',
  effect: 'read',
  execute: async ({ n }) => 2 * n,
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays somebody',
  input: z.object({ to: z.string(), euros: z.number() }),
  output: z.object({ paid: z.number() }),
  approval: 'always',
  execute: async ({ euros }) => ({ paid: euros }),
});

export function openPrograms(options: Partial<HarnessOptions> = {}): Harness {
  const harness = createHarness({ tools: [double, pay], scripts: 'one-program', ...options });
  afterAll(() => harness.close());
  return harness;
}

/** The scripts of one conversation, each of which starts from the heap of the one before it. */
export class Conversation {
  heap: string | undefined;
  last: Outcome | undefined;

  constructor(
    readonly harness: Harness,
    readonly options: RunScriptOptions = {},
  ) {}

  async run(source: string, options: RunScriptOptions = {}): Promise<Outcome> {
    const outcome = await this.harness.runScript(source, { heap: this.heap, ...this.options, ...options });
    this.heap = outcome.heap ?? this.heap;
    this.last = outcome;
    return outcome;
  }

  /** The value of a script, or its failure's code and message. */
  async value(source: string, options: RunScriptOptions = {}): Promise<unknown> {
    return shownEnd(await this.run(source, options));
  }

  /** A conversation that continues from the same heap, and whose scripts this one does not see. */
  fork(): Conversation {
    const fork = new Conversation(this.harness, this.options);
    fork.heap = this.heap;
    return fork;
  }
}

function shownEnd(outcome: Outcome): unknown {
  return outcome.status === 'completed' ? outcome.value : `${outcome.error?.code}: ${outcome.error?.message}`;
}

export function modelText(outcome: Outcome): string {
  return renderOutcomeForModel(outcome, { tokenBudget: 4_000 });
}
