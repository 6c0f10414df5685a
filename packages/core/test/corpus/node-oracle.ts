import { transformSync } from 'oxc-transform';
import type { OrdinaryScript } from './ordinary-scripts.js';
import { WORLD_TOOL_NAMES, type World } from './world.js';

/** The outcome of a script: the JSON text of its value, or its error. */
export interface Ending {
  readonly json: string | undefined;
  readonly error: { readonly name: string; readonly message: string } | undefined;
  readonly output: string;
}

/** Runs a script in Node itself, without its types, with tools that copy as the harness does. */
export async function runByNode(
  script: OrdinaryScript,
  world: World,
  context: Record<string, unknown>,
): Promise<Ending> {
  let output = '';
  const text = (value: unknown) => void (output += typeof value === 'string' ? value : JSON.stringify(value));
  const globals = {
    tools: toolsOf(world),
    context: deepFrozen(structuredClone(context)),
    text,
    emit: text,
    sleep,
    console: silentConsole,
    ToolExecutionError,
  };
  try {
    const run = new AsyncFunction(...Object.keys(globals), `"use strict";\n${stripTypes(script)}`);
    const value: unknown = await run(...Object.values(globals));
    return { json: JSON.stringify(value), error: undefined, output };
  } catch (error) {
    const { name, message } = error as Error;
    return { json: undefined, error: { name, message }, output };
  }
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<unknown>;

const silentConsole = { log() {}, info() {}, warn() {}, error() {}, debug() {} };

class ToolExecutionError extends Error {
  override name = 'ToolExecutionError';
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function stripTypes({ source }: OrdinaryScript): string {
  const result = transformSync('script.ts', source, {
    lang: 'ts',
    sourceType: 'module',
    target: 'esnext',
    typescript: { onlyRemoveTypeImports: true },
  });
  const error = result.errors.find(({ message }) => !message.startsWith("A 'return' statement"));
  if (error !== undefined) throw new Error(error.message);
  return result.code;
}

function toolsOf(world: World): Record<string, (args: unknown) => Promise<unknown>> {
  const call = (name: (typeof WORLD_TOOL_NAMES)[number]) => async (args: unknown) => {
    try {
      const result = await world[name](JSON.parse(JSON.stringify(args)) as never);
      return JSON.parse(JSON.stringify(result)) as unknown;
    } catch (error) {
      throw new ToolExecutionError((error as Error).message);
    }
  };
  return Object.fromEntries(WORLD_TOOL_NAMES.map((name) => [name, call(name)]));
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) deepFrozen(member);
  return Object.freeze(value);
}
