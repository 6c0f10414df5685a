import { askedModel, converse, TurnInterruption } from '../chat/conversation.js';
import { FinalAnswer } from '../chat/final-answer.js';
import { openChat, type ChatFlags, type OpenChat } from '../chat/open-chat.js';
import { reportPending } from '../chat/waiting.js';
import type { Engines } from '../harness/engines.js';
import { promptInput, readPrompt } from '../input/prompt-input.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { UsageError } from '../usage-error.js';

export type { ChatFlags } from '../chat/open-chat.js';

/** Talks to a model that writes scripts: one prompt, or a conversation at a terminal. */
export async function chat(words: readonly string[], flags: ChatFlags, engines: Engines): Promise<number> {
  const screen = openScreen();
  const input = promptInput(words);
  if (input.said === undefined && input.source === undefined) refuseInConversation(flags);
  const turns = new TurnInterruption();
  const interrupt = () => turns.interrupt();
  try {
    const prompt = await readPrompt(input, screen.notice);
    const finalAnswer = await FinalAnswer.open(flags, screen);
    const opened = await openChat({ flags, engines, screen, stdinIsTaken: input.source !== undefined, interrupt });
    try {
      if (prompt === undefined) return await converse(opened, screen, turns);
      return await sayOnce({ opened, screen, turns, finalAnswer }, prompt);
    } finally {
      await opened.close();
    }
  } finally {
    input.source?.close();
  }
}

/** Throws a UsageError for options of the final answer or of JSON output: a conversation has neither. */
function refuseInConversation({ json, print, outputSchema, output }: ChatFlags): void {
  const given = { '--json': json, '--print': print, '--output-schema': outputSchema, '--output': output };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (flag !== undefined)
    throw new UsageError(
      `${flag} needs a prompt: toolscript chat "PROMPT" ${flag}${flag.startsWith('--output') ? ' FILE' : ''}.`,
    );
}

interface ChatParts {
  readonly opened: OpenChat;
  readonly screen: Screen;
  readonly turns: TurnInterruption;
  readonly finalAnswer: FinalAnswer;
}

async function sayOnce({ opened, screen, turns, finalAnswer }: ChatParts, prompt: string): Promise<number> {
  const model = askedModel(opened, turns);
  const status = await finalAnswer.deliver(await model.say(finalAnswer.prompt(prompt)), model);
  await reportPending(opened, screen);
  return status;
}
