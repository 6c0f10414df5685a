import { createHarness, type Harness, type HarnessOptions } from '#core/index.js';
import type { Outcome, Tool } from '#core/protocol/index.js';
import { makeWorld } from './world.js';

/** A warm harness that gives each run a world of its own: what one script writes, no other reads. */
export interface WorldHarness {
  readonly harness: Harness;
  run(source: string): Promise<Outcome>;
}

type World = ReadonlyMap<string, Tool>;

/** `makeTools`: the tools of one world, made anew for each run; the checker's unless told. */
export function worldHarness(options: Partial<HarnessOptions>, makeTools: () => Tool[] = makeWorld): WorldHarness {
  const harness = createHarness({
    approvals: 'auto',
    ...options,
    tools: makeTools().map((tool) => ({
      ...tool,
      execute: (input, call) => (call.app as World).get(tool.name)?.execute(input, call),
    })),
  });
  return {
    harness,
    run(source) {
      const app: World = new Map(makeTools().map((tool) => [tool.name, tool]));
      return harness.runScript(source, { app, context: { workingDirectory: '/project' } });
    },
  };
}
