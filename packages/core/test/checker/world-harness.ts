import { createHarness, type Harness, type HarnessOptions } from '#core/index.js';
import type { Outcome, Tool } from '#core/protocol/index.js';
import { WORLD } from './world.js';

/** A warm harness with a separate world for each run: no run reads the data of another. */
export interface WorldHarness {
  readonly harness: Harness;
  run(source: string): Promise<Outcome>;
}

/** `parts`: functions that each create tools without shared state. Default: those of the checker. */
export function worldHarness(options: Partial<HarnessOptions>, parts: readonly (() => Tool[])[] = WORLD): WorldHarness {
  const partOf = new Map<string, () => Tool[]>();
  const tools = parts.flatMap((part) => part().map((tool) => (partOf.set(tool.name, part), tool)));
  const harness = createHarness({
    approvals: 'auto',
    ...options,
    tools: tools.map((tool) => ({
      ...tool,
      execute: (input, call) => (call.app as World).find(tool.name, partOf.get(tool.name)!)?.execute(input, call),
    })),
  });
  return {
    harness,
    run: (source) => harness.runScript(source, { app: new World(), context: { workingDirectory: '/project' } }),
  };
}

/**
 * The tools of one run. The first call of a tool creates its part of the world, which takes longer than most scripts.
 */
class World {
  readonly #made = new Map<() => Tool[], readonly Tool[]>();

  find(name: string, part: () => Tool[]): Tool | undefined {
    const made = this.#made.get(part) ?? part();
    this.#made.set(part, made);
    return made.find((tool) => tool.name === name);
  }
}
