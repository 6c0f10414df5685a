import { writeChat } from '#core/providers/scripted/write-chat.js';
import { writeMessages } from '#core/providers/scripted/write-messages.js';
import { writeResponses } from '#core/providers/scripted/write-responses.js';
import { textOfFrame } from '#core/providers/scripted/frames.js';
import { planAnswer } from '#core/providers/scripted/planned-answer.js';
import { parseScenario, type ScenarioAnswer } from '#core/providers/scripted/scenario.js';
import type { ProviderApi, Scenario } from '#core/providers/index.js';

type Json = Readonly<Record<string, unknown>>;
export type Turn = Extract<Scenario['turns'][number], { parts: unknown }>;

const WRITE = { 'openai-responses': writeResponses, 'openai-chat': writeChat, 'anthropic-messages': writeMessages };

/** The stream of an answer to a request of any shape. `number` makes its ids unique. */
export function answerTo(api: ProviderApi, body: Json, turn: Turn, number: number): string {
  const scenario = parseScenario({ turns: [turn] });
  const seen = {
    api,
    model: String(body.model),
    frozen: JSON.stringify([body.instructions, body.system, body.tools, (body.messages as unknown[] | undefined)?.[0]]),
    tools: new Map(toolsOf(body)),
    stopSequences: [],
    messages: [],
    sealsReasoning: api !== 'openai-responses' || JSON.stringify(body.include ?? '').includes('encrypted'),
    text: JSON.stringify(body),
  };
  const frames = WRITE[api](planAnswer(scenario.turns[0] as ScenarioAnswer, seen, number, scenario));
  return frames.map((frame) => (frame.type === 'event' ? textOfFrame(frame) : '')).join('');
}

function toolsOf({ tools }: Json): [string, 'function' | 'custom'][] {
  return ((tools ?? []) as Json[]).map((tool) => {
    const { name } = (tool.function ?? tool) as Json;
    return [String(name), tool.type === 'custom' ? 'custom' : 'function'];
  });
}
