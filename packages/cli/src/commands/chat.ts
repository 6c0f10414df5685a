import { converse, TurnInterruption } from '../chat/conversation.js';
import { openChat, type ChatFlags, type OpenChat } from '../chat/open-chat.js';
import { reportPending } from '../chat/waiting.js';
import type { Engines } from '../harness/engines.js';
import { readWhole, sourceFor, stdinBringsText, type TextSource } from '../input/source.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { UsageError } from '../usage-error.js';

export type { ChatFlags } from '../chat/open-chat.js';

/** Talks to a model that writes scripts: one prompt, or a conversation at a terminal. */
export async function chat(words: readonly string[], flags: ChatFlags, engines: Engines): Promise<number> {
  const screen = openScreen();
  const said = words.join(' ');
  const isSaid = words.length > 0 && said !== '-';
  const source = isSaid ? undefined : promptSource(said === '-');
  if (flags.json === true && !isSaid && source === undefined)
    throw new UsageError('--json needs a prompt: toolscript chat "PROMPT" --json.');
  const turns = new TurnInterruption();
  const interrupt = () => turns.interrupt();
  try {
    const prompt = isSaid ? said : await readPrompt(source);
    if (prompt?.trim() === '') throw new UsageError('The prompt is empty. Write one: toolscript "PROMPT".');
    const stdinIsTaken = source !== undefined;
    const opened = await openChat({ flags, engines, screen, stdinIsTaken, interrupt });
    try {
      if (prompt === undefined) return await converse(opened, screen, turns);
      return await sayOnce(opened, prompt, flags, screen, turns);
    } finally {
      await opened.close();
    }
  } finally {
    source?.close();
  }
}

/** Undefined: the user types prompts. */
function promptSource(isNamed: boolean): TextSource | undefined {
  if (isNamed) return sourceFor('-', 'chat');
  if (process.stdin.isTTY && process.stdout.isTTY) return undefined;
  if (stdinBringsText()) return sourceFor('-', 'chat');
  throw new UsageError('There is no prompt, and a conversation needs a terminal. Write a prompt: toolscript "PROMPT".');
}

/** Undefined if the user types prompts. */
async function readPrompt(source: TextSource | undefined): Promise<string | undefined> {
  return source === undefined ? undefined : (await readWhole(source)).replace(/^\uFEFF/u, '').trim();
}

async function sayOnce(
  opened: OpenChat,
  prompt: string,
  flags: ChatFlags,
  screen: Screen,
  turns: TurnInterruption,
): Promise<number> {
  const { status } = await turns.during(opened.workbench.approvals, (signal) => opened.session.say(prompt, signal));
  await reportPending(opened, screen, flags.json === true);
  return status;
}
