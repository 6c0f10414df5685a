import { anthropic } from '@ai-sdk/anthropic';
import { openai } from '@ai-sdk/openai';
import { simulateReadableStream, type LanguageModel } from 'ai';
import type { MockLanguageModelV3 as MockModel } from 'ai/test';

const SCRIPT = `const cities = ['Oslo', 'Lisbon', 'Reykjavik'];
const weather = await Promise.all(cities.map(async (city) => ({ city, ...(await tools.getWeather({ city })) })));
const [warmest] = weather.sort((a, b) => b.celsius - a.celsius);
return [warmest, await tools.bookFlight({ to: warmest.city })];`;

type Chunk = Awaited<ReturnType<MockModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** The model of the first key that is set. Without a key, a script in place of a model. */
export async function model(): Promise<LanguageModel> {
  if (process.env.ANTHROPIC_API_KEY) return anthropic('claude-sonnet-5-5');
  if (process.env.OPENAI_API_KEY) return openai('gpt-6.2-sol');
  const { MockLanguageModelV3 } = await import('ai/test');
  return new MockLanguageModelV3({
    doStream: async ({ prompt }) => {
      const chunks = prompt.at(-1)?.role === 'tool' ? answer() : scriptCall();
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

function answer(): Chunk[] {
  const delta = 'Reykjavik is the warmest. No key is set, so this is no model.';
  return [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta },
    { type: 'text-end', id: '1' },
    finish('stop'),
  ];
}

function scriptCall(): Chunk[] {
  const input = JSON.stringify({ code: SCRIPT });
  return [{ type: 'tool-call', toolCallId: crypto.randomUUID(), toolName: 'run_script', input }, finish('tool-calls')];
}

function finish(unified: 'stop' | 'tool-calls'): Chunk {
  const inputTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
  const outputTokens = { total: 0, text: 0, reasoning: 0 };
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage: { inputTokens, outputTokens } };
}
