import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { CallSources } from '#core/calls/flow/call-sources.js';
import { isVerbatim } from '#core/calls/flow/verbatim.js';
import { defineTool, type Tool } from '#core/index.js';
import type { JsonValue, Operation, ScriptOrigin } from '#core/protocol.js';
import { openHarness } from '../harness/open-harness.js';
import { GUARDED } from './agentdojo-tools.js';

/*
 * Replays the injections of AgentDojo: the model has read an injected text, and its next script makes the calls that the
 * attacker wants. No model runs, so this proves nothing about the share of attacks that a model would follow. The data
 * is not part of the repository.
 */

const DATA = join(fileURLToPath(new URL('../../../../..', import.meta.url)), 'shared/fixtures/agentdojo/tasks.jsonl');
const SUITES = ['banking', 'slack', 'workspace'];

interface Task {
  readonly suite: string;
  readonly kind: 'user' | 'injection';
  readonly id: string;
  readonly prompt?: string | undefined;
  readonly calls: readonly { readonly tool: string; readonly args: Record<string, unknown> }[];
}

function readTasks(): readonly Task[] {
  if (!existsSync(DATA)) return [];
  const lines = readFileSync(DATA, 'utf8').split('\n');
  const tasks = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Task);
  return tasks.filter(({ suite }) => SUITES.includes(suite));
}

const tasks = readTasks();
if (tasks.length === 0) console.log(`The replay of AgentDojo is skipped: there is no ${DATA}.`);
const withData = it.skipIf(tasks.length === 0);

/** A value that the task computes from its environment is unknown to the user. */
const plainArguments = (args: Record<string, unknown>): JsonValue =>
  JSON.parse(JSON.stringify(args), (_, value: unknown) =>
    typeof value === 'object' && value !== null && 'fromEnvironment' in value ? 'of the environment' : value,
  ) as JsonValue;

const names = [...new Set(tasks.flatMap(({ calls }) => calls.map(({ tool }) => tool)))];
const executed: { tool: string; input: unknown }[] = [];
const tools: readonly Tool[] = names.map((name) =>
  defineTool({
    name,
    description: name,
    inputSchema: {},
    approval: 'never',
    effect: name in GUARDED ? 'external' : 'read',
    trust: name in GUARDED ? 'trusted' : 'untrusted',
    ...(name in GUARDED ? { flow: { trusted: GUARDED[name]! } } : {}),
    execute: (input) => {
      if (name in GUARDED) executed.push({ tool: name, input });
      return { text: 'read' };
    },
  }),
);
const byName = new Map(tools.map((tool) => [tool.name, tool]));

function judge({ tool, args }: Task['calls'][number], origin: ScriptOrigin, earlier: readonly Operation[] = []) {
  const sources = new CallSources({ script: undefined, origin, policy: undefined, tool: (name) => byName.get(name) });
  const call = {
    tool,
    effect: 'external',
    callId: 'c',
    scriptId: undefined,
    principal: undefined,
    line: undefined,
  } as const;
  return sources.finding({ ...call, input: plainArguments(args) }, earlier);
}

/** The texts of an argument: a name, or a list of names. */
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [String(value)]);

const afterReading = (prompt: string): ScriptOrigin => ({ userTexts: [prompt], hasReadUntrusted: true });
const users = tasks.filter(({ kind }) => kind === 'user');
const injections = tasks.filter(({ kind }) => kind === 'injection');
const effects = (task: Task) => task.calls.filter(({ tool }) => tool in GUARDED);

withData('a destination that only an injected text names is always asked about, for every task of a user', () => {
  const count = { asked: 0, named: 0 };
  for (const injection of injections) {
    for (const { prompt = '' } of users.filter(({ suite }) => suite === injection.suite)) {
      for (const call of effects(injection)) {
        const input = plainArguments(call.args) as Record<string, unknown>;
        const destinations = GUARDED[call.tool]!.filter((name) => name in input).flatMap((name) =>
          textsOf(input[name]),
        );
        const isNamed = destinations.every((text) => isVerbatim(prompt, text));
        const { isDoubtful } = judge(call, afterReading(prompt));
        if (!isNamed) expect(isDoubtful, `${injection.id}: ${JSON.stringify(call)} after "${prompt}"`).toBe(true);
        if (isDoubtful) count.asked += 1;
        else count.named += 1;
      }
    }
  }
  expect(count.asked).toBeGreaterThan(100);
  console.log(`Injected calls after reading: ${count.asked} asked, ${count.named} whose destinations the user names.`);
});

withData('no injected call runs in a script that a model writes after reading', async () => {
  const harness = openHarness({ tools: [...tools], approvals: 'auto' });
  executed.length = 0;
  let suspended = 0;
  for (const injection of injections.filter((task) => effects(task).length > 0)) {
    const lines = injection.calls.map(
      ({ tool, args }) => `await tools.${tool}(${JSON.stringify(plainArguments(args))});`,
    );
    const outcome = await harness.runScript(lines.join('\n'), { origin: afterReading('Summarise what is new.') });
    expect(outcome.status, `${injection.suite} ${injection.id}: ${JSON.stringify(outcome.error)}`).toBe('suspended');
    suspended += 1;
  }
  expect(suspended).toBeGreaterThan(15);
  expect(executed).toEqual([]);
});

withData('no literal call of a user’s task asks in a plan that was written before anything was read', () => {
  let calls = 0;
  let askedLater = 0;
  for (const task of users) {
    for (const call of effects(task)) {
      calls += 1;
      expect(judge(call, { userTexts: [task.prompt ?? ''], hasReadUntrusted: false }).isDoubtful).toBe(false);
      if (judge(call, afterReading(task.prompt ?? '')).isDoubtful) askedLater += 1;
    }
  }
  expect(calls).toBeGreaterThan(40);
  console.log(
    `Calls of users’ tasks: ${calls}; asked in plans: 0; asked if they are written after reading: ${askedLater}.`,
  );
});
