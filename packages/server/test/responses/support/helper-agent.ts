import { createHarness, defineTool, type HarnessOptions } from '@toolscript/core';
import { defineAgent, type AgentInput } from '@toolscript/core/agent';
import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import type { ModelProvider, OutputItem } from '@toolscript/core/protocol';
import type { ModelRequest, ModelTool } from '@toolscript/core/ports';
import type { ServedAgent } from '@toolscript/server';
import { z } from 'zod';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

export const HELPER_MODEL = 'helper-model';

const stamp = defineTool({
  name: 'stamp',
  description: 'Stamps a paper.',
  input: z.object({ paper: z.string() }),
  output: z.object({ stamped: z.string() }),
  effect: 'write',
  approval: 'always',
  execute: ({ paper }) => ({ stamped: paper }),
});

/**
 * An agent whose model does the action that the last message names. `requests`: the requests to the model, in order.
 */
export function helperAgent(
  parts: Pick<HarnessOptions, 'store' | 'suspensionKey'>,
  config: Partial<AgentInput> = {},
): ServedAgent & { close(): Promise<void>; readonly requests: ModelRequest[] } {
  const agent = defineAgent({
    slug: 'helper',
    provider: { api: 'openai-responses', model: HELPER_MODEL },
    ...config,
  });
  const harness = createHarness({ ...sharedThreads(), ...parts, tools: [stamp], typecheck: 'off' });
  const requests: ModelRequest[] = [];
  const { api, capabilities } = scriptedModel({ turns: [] });
  const provider: ModelProvider = {
    api,
    model: HELPER_MODEL,
    capabilities,
    stream: (request, options) => {
      requests.push(structuredClone({ ...request, resolveImages: undefined }) as ModelRequest);
      const asked = { ...request, tools: withCalled(request) };
      return scriptedModel({ turns: [answerTo(request)], delta_length: 4 }).stream(asked, options);
    },
  };
  return {
    config: agent,
    requests,
    capability: harness.capability,
    open: async () => ({ agent, provider, harness }),
    close: () => harness.close(),
  };
}

/** Services take calls to functions that a later request no longer offers; the scripted one is stricter. */
function withCalled({ conversation, tools = [] }: ModelRequest): readonly ModelTool[] {
  const offered = new Set(tools.map(({ name }) => name));
  const names = conversation.flatMap((item) => (item.type === 'function_call' ? [item.name] : []));
  const missing = [...new Set(names)].filter((name) => !offered.has(name));
  const added = missing.map((name) => ({
    type: 'function' as const,
    name,
    description: '',
    inputSchema: { type: 'object' },
  }));
  return [...tools, ...added];
}

type Turn = Scenario['turns'][number];
type Parts = Extract<Turn, { parts: unknown }>['parts'];

function answerTo({ conversation, tools = [] }: ModelRequest): Turn {
  const asked = conversation.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  const prompt = textOf(conversation[asked]);
  const results = conversation.slice(asked + 1).filter(({ type }) => type.endsWith('_output'));
  const functions = tools.filter(({ name, type }) => type === 'function' && name !== 'run_script');
  if (results.length > 0) return say(`I read: ${results.map(resultOf).join(' | ')}`);
  const parts: Parts = [];
  if (prompt.includes('think')) parts.push({ type: 'reasoning', text: 'First I think it over.' });
  if (prompt.includes('say')) parts.push({ type: 'text', text: `You said: ${prompt}` });
  if (prompt.includes('pause')) parts.push({ type: 'wait', ms: 50 }, { type: 'text', text: ' And more.' });
  if (prompt.includes('slow')) parts.push({ type: 'wait', ms: 60_000 });
  if (prompt.includes('cut')) parts.push({ type: 'cut' });
  if (prompt.includes('script')) parts.push({ type: 'script', code: "console.log('in the script'); return 42;" });
  if (prompt.includes('stamp')) parts.push({ type: 'script', code: "return await tools.stamp({ paper: 'A' });" });
  if (functions.length > 0 && prompt.includes('weather'))
    for (const place of prompt.includes('both') ? ['Oslo', 'Rome'] : ['Oslo'])
      parts.push({ type: 'call', name: functions[0]!.name, arguments: { location: place } });
  if (prompt.includes('short')) return { parts: [{ type: 'text', text: 'Too sh' }], stop: 'max_output_tokens' };
  return parts.length === 0 ? say(`Answer ${countOf(conversation)} to: ${prompt}`) : { parts };
}

function say(text: string): Turn {
  return { parts: [{ type: 'text', text }] };
}

function textOf(item: OutputItem | undefined): string {
  return item?.type === 'message' ? item.content : '';
}

function resultOf(item: OutputItem): string {
  if (item.type === 'function_call_output') return item.output;
  return item.type === 'script_execution_output' ? (item.output_json ?? item.report ?? '') : '';
}

function countOf(conversation: readonly OutputItem[]): number {
  return conversation.filter((item) => item.type === 'message' && item.role === 'user').length;
}
