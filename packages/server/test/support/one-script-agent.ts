import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createHarness, defineTool, type HarnessOptions } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import type { Tool } from '@toolscript/core/protocol';
import type { ServedAgent } from '@toolscript/server';
import { z } from 'zod';
import { promptedModel } from './prompted-model.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

type OneScriptOptions = Omit<HarnessOptions, 'tools'> & { slug?: string; moreTools?: readonly Tool[] };

/**
 * The agent `one-script`: the prompt is the script that it runs. Its tools: `mark` has an effect, `note` needs an
 * approval, and `hang` never ends and ignores its signal.
 */
export function oneScriptAgent(
  { slug = 'one-script', moreTools = [], ...options }: OneScriptOptions,
  effectsFile: string,
): ServedAgent & { close(): Promise<void> } {
  const config = defineAgent({ slug });
  const input = z.object({ tag: z.string() });
  const execute = ({ tag }: { tag: string }, { idempotencyKey }: { idempotencyKey: string }) => {
    appendFileSync(effectsFile, `${idempotencyKey} ${tag}\n`);
    return { tag };
  };
  const tools = [
    defineTool({ name: 'mark', description: 'mark', effect: 'write', approval: 'never', input, execute }),
    defineTool({ name: 'note', description: 'note', effect: 'write', approval: 'always', input, execute }),
    defineTool({
      name: 'hang',
      description: 'hang',
      effect: 'write',
      approval: 'never',
      input,
      execute: (given, context) => {
        execute(given, context);
        return new Promise(() => {});
      },
    }),
  ];
  const harness = createHarness({ ...sharedThreads(), ...options, tools: [...tools, ...moreTools], typecheck: 'off' });
  const provider = promptedModel((code, hasRun) => {
    const part = hasRun ? ({ type: 'text', text: 'It has run.' } as const) : ({ type: 'script', code } as const);
    return { parts: [part], usage: { input_tokens: 0, output_tokens: 0 } };
  });
  const open = async () => ({ agent: config, provider, harness });
  return { config, capability: harness.capability, open, close: () => harness.close() };
}

/** The tags of the effects that took place, in order. */
export function effectsIn(file: string): string[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => line.split(' ')[1]!);
}
