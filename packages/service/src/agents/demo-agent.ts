import { defineTool, type HarnessOptions } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import type { ModelProvider, OutputItem, Tool } from '@toolscript/core/protocol';
import type { ModelRequest } from '@toolscript/core/ports';
import { z } from 'zod';
import { isTour, slowly, tourScript } from './demo-tour.js';
import type { ServedAgent } from './agent-directory.js';
import { HarnessAgents } from './harness-agents.js';

const DEMO_AGENT = defineAgent({
  slug: 'demo',
  name: 'Demo',
  description:
    'A scripted model, which needs no key. It runs a similar script for every prompt: "approve" makes the script ask you, "slow 5" makes it wait 5 seconds, "tour" makes it read files.',
  provider: { api: 'openai-responses', model: 'scripted' },
  carrier: 'tool',
});

/** The maximum wait that a prompt may request, in s. */
const MAX_WAIT_S = 600;

const signGuestBook = defineTool({
  name: 'signGuestBook',
  description: 'Signs the guest book of the demo. It changes nothing; it only asks you for an approval.',
  input: z.object({ name: z.string() }),
  output: z.object({ signed: z.string() }),
  approval: 'always',
  effect: 'write',
  execute: ({ name }) => ({ signed: name }),
});

/**
 * The agent `demo`. `tools`: the tools that its script can call in addition to the demo's own tools. The script calls
 * `listDir` if `tools` contains it.
 */
export function demoAgent(
  options: Omit<HarnessOptions, 'tools' | 'expose' | 'packs'>,
  tools: readonly Tool[] = [],
): ServedAgent & { close(): Promise<void> } {
  const limits = { timeoutMs: (MAX_WAIT_S + 60) * 1000, ...options.limits };
  const provider = demoModel(tools.some(({ name }) => name === 'listDir'));
  const agents = new HarnessAgents({
    agents: [DEMO_AGENT],
    harness: { ...options, tools: [signGuestBook, ...tools], limits },
    provider: () => provider,
  });
  return {
    config: DEMO_AGENT,
    get capability() {
      return agents.capability;
    },
    open: async (choices) => (await agents.find())!.open(choices),
    close: () => agents.close(),
  };
}

/** The demo's model. It answers from the conversation alone, so it can continue any run after a restart. */
function demoModel(hasFolder: boolean): ModelProvider {
  const { api, model, capabilities } = scriptedModel({ turns: [] });
  return {
    api,
    model,
    capabilities,
    stream: (request, options) => {
      const answer = scriptedModel(demoScenario(request, hasFolder)).stream(request, options);
      return hasFolder && isTour(promptIn(request)) ? slowly(answer) : answer;
    },
  };
}

function demoScenario({ conversation }: ModelRequest, hasFolder: boolean): Scenario {
  const last = lastPrompt(conversation);
  const result = conversation.slice(last + 1).findLast((item) => item.type === 'script_execution_output');
  const usage = { input_tokens: 0, output_tokens: 0 };
  if (result?.type === 'script_execution_output')
    return { turns: [{ parts: [{ type: 'text', text: closingText(result) }], usage }] };
  const prompt = messageText(conversation[last]);
  const isLong = hasFolder && isTour(prompt);
  const parts = [
    {
      type: 'text' as const,
      text: 'I am a scripted model, so I always run a script that lists the tools it can call.\n',
    },
    { type: 'script' as const, code: isLong ? tourScript(asksUser(prompt)) : demoScript(prompt, hasFolder) },
  ];
  return { turns: [{ parts, usage }] };
}

function promptIn({ conversation }: ModelRequest): string {
  return messageText(conversation[lastPrompt(conversation)]);
}

function lastPrompt(conversation: readonly OutputItem[]): number {
  return conversation.findLastIndex((item) => item.type === 'message' && item.role === 'user');
}

function asksUser(prompt: string): boolean {
  return /approve/iu.test(prompt);
}

function messageText(item: OutputItem | undefined): string {
  return item?.type === 'message' ? item.content : '';
}

function demoScript(prompt: string, hasFolder: boolean): string {
  const seconds = Number(/\bslow\s+(\d{1,3}(?:\.\d+)?)/iu.exec(prompt)?.[1] ?? 0);
  return [
    'const callable = (await catalog.list()).map(({ name }) => name);',
    "console.log(`I can call ${callable.join(', ')}.`);",
    ...(hasFolder ? ["const files = await tools.listDir({ path: '.' });"] : []),
    ...(seconds > 0 ? [`await sleep(${Math.min(seconds, MAX_WAIT_S) * 1000});`] : []),
    ...(asksUser(prompt) ? ["const guest = await tools.signGuestBook({ name: 'demo' });"] : []),
    `return { callable${hasFolder ? ', files' : ''}${asksUser(prompt) ? ', guest' : ''} };`,
  ].join('\n');
}

function closingText(output: Extract<OutputItem, { type: 'script_execution_output' }>): string {
  const { error, operations } = output;
  if (error !== undefined && error !== null) return `The script ended with ${error.code}: ${error.message}`;
  const calls = operations.length === 1 ? '1 call' : `${operations.length} calls`;
  return `The script has ended, after ${calls}. With a model of your own, an agent would read its result now.`;
}
