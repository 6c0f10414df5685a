import { createHash } from 'node:crypto';
import { createHarness, defineTool, type HarnessOptions } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import type { ImagePart } from '@toolscript/core/protocol';
import type { Scenario } from '@toolscript/core/providers';
import type { ServedAgent } from '@toolscript/server';
import { z } from 'zod';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { promptedModel } from '../../../server/test/support/prompted-model.js';

type Parts = Extract<Scenario['turns'][number], { parts: unknown }>['parts'];

/** The model's answer to a prompt; after its script, it reports its end. */
export type Scenes = Readonly<Record<string, Parts>>;

/** A red pixel, which a tool of the agent names by its path. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const text = z.object({ text: z.string() });

const tools = [
  defineTool({
    name: 'snapshot',
    description: 'Names an image.',
    effect: 'read',
    approval: 'never',
    input: z.object({ path: z.string() }),
    output: z.any(),
    execute: ({ path }) => ({
      type: 'image',
      mediaType: 'image/png',
      path,
      sha256: createHash('sha256').update(PIXEL).digest('hex'),
    }),
  }),
  defineTool({
    name: 'echo',
    description: 'Gives back its text.',
    effect: 'read',
    approval: 'never',
    input: text,
    output: text,
    execute: (input) => input,
  }),
  defineTool({
    name: 'publish',
    description: 'Publishes a text.',
    effect: 'external',
    approval: 'always',
    input: z.object({ text: z.string().max(40), approvalContext: z.string().optional() }),
    output: z.object({ published: z.string() }),
    execute: (input) => ({ published: input.text }),
  }),
  defineTool({
    name: 'rewrite',
    description: 'Replaces a text.',
    effect: 'write',
    approval: 'always',
    input: z.object({ path: z.string(), content: z.string() }),
    output: z.object({ length: z.number() }),
    preview: ({ path, content }) =>
      [`Replace ${path}, +1 −1`, '', `--- a/${path}`, `+++ b/${path}`, '@@ -1 +1 @@', '-old', `+${content}`].join('\n'),
    execute: ({ content }) => ({ length: content.length }),
  }),
];

/** The agent `scenes`, which plays the scene that the prompt names. */
export function pageAgent(
  options: Omit<HarnessOptions, 'tools'>,
  scenes: Scenes,
): ServedAgent & { close(): Promise<void> } {
  const config = defineAgent({ slug: 'scenes', provider: { api: 'openai-responses', model: 'scripted' } });
  const limits = { maxToolCalls: 2000, timeoutMs: 60_000 };
  const harness = createHarness({ ...sharedThreads(), typecheck: 'off', ...options, tools, limits });
  const provider = promptedModel(
    (prompt, hasRun) => ({
      parts: hasRun ? [{ type: 'text', text: 'It has ended.' }] : (scenes[prompt] ?? []),
      usage: { input_tokens: 1200, output_tokens: 300 },
    }),
    { delta_length: 256 },
  );
  const loadImage = async ({ path }: ImagePart) => ({ bytes: path === 'pixel.png' ? PIXEL : Buffer.from('other') });
  const open = async () => ({ agent: config, provider, harness, loadImage });
  return { config, capability: harness.capability, open, close: () => harness.close() };
}
