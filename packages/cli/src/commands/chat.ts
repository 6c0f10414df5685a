import type { MessageItem } from '@toolscript/core/protocol';
import { ThreadRuns } from '@toolscript/service';
import { announceRun, AnnouncingView, startInBackground } from '../chat/background.js';
import { converse, TurnInterruption } from '../chat/conversation.js';
import { FinalAnswer } from '../chat/final-answer.js';
import { openChat, type ChatFlags, type ChatOptions, type OpenChat } from '../chat/open-chat.js';
import { notifyDesktop } from '../chat/notify-desktop.js';
import { reportPending } from '../chat/waiting.js';
import { NoKeyError } from '../agents/choose-agent.js';
import type { Engines } from '../harness/engines.js';
import { readAttached } from '../input/attached-input.js';
import { promptInput, readPrompt } from '../input/prompt-input.js';
import { ownCommand } from '../terminal/own-command.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { UsageError } from '../usage-error.js';
import { silentView } from '../view/answer-view.js';

export type { ChatFlags } from '../chat/open-chat.js';

/** Talks to a model that writes scripts: one prompt, or a conversation at a terminal. */
export async function chat(words: readonly string[], flags: ChatFlags, engines: Engines): Promise<number> {
  const screen = openScreen();
  if (flags.takeOver !== undefined) return takeOver(flags.takeOver, { flags, engines, screen });
  const input = promptInput(words);
  if (input.said === undefined && input.source === undefined) refuseInConversation(flags);
  const turns = new TurnInterruption();
  const interrupt = () => turns.interrupt();
  try {
    const prompt = await readPrompt(input, screen.notice);
    const attached = await readAttached(flags);
    const finalAnswer = await FinalAnswer.open(flags, screen);
    const { outputSchema } = finalAnswer;
    const stdinIsTaken = input.source !== undefined;
    const view = flags.announceRun === true ? new AnnouncingView() : undefined;
    const opened = await openWithKey({ flags, engines, screen, stdinIsTaken, interrupt, outputSchema, view });
    if (prompt === undefined) {
      const { continue: _continue, ...same } = flags;
      const open = (changes: ChatFlags) =>
        openChat({ flags: { ...same, ...changes }, engines, screen, stdinIsTaken, interrupt, outputSchema });
      return await converse(opened, { screen, turns, open });
    }
    try {
      return await sayOnce({ opened, screen, turns, finalAnswer, isBackground: view !== undefined }, prompt, attached);
    } finally {
      await opened.close();
    }
  } finally {
    input.source?.close();
  }
}

/** Opens the conversation. A user at a terminal who has no key yet can connect a provider first. */
async function openWithKey(options: ChatOptions): Promise<OpenChat> {
  try {
    return await openChat(options);
  } catch (error) {
    const canAsk = process.stdin.isTTY && process.stdout.isTTY;
    if (!(error instanceof NoKeyError) || !canAsk) throw error;
    const { connectFirst } = await import('./connect.js');
    if (!(await connectFirst(options.screen))) throw error;
    return openChat(options);
  }
}

/** Continues the run that another process works on, as soon as that process hands the run over or dies. */
async function takeOver(
  runId: string,
  { flags, engines, screen }: Pick<ChatOptions, 'flags' | 'engines' | 'screen'>,
): Promise<number> {
  const turns = new TurnInterruption();
  const beforeReopen: ChatOptions['beforeReopen'] = async ({ threadId }, stores) => {
    announceRun({ runId, threadId });
    await ThreadRuns.untilFree(stores, runId);
  };
  const interrupt = () => turns.interrupt();
  const opened = await openChat({
    flags,
    engines,
    screen,
    stdinIsTaken: true,
    interrupt,
    view: silentView,
    beforeReopen,
  });
  try {
    const { status } = await turns.during(opened.workbench.approvals, (signal) => opened.session.takeOver(signal));
    await notifyIfWaiting(opened);
    return status;
  } finally {
    await opened.close();
  }
}

/** Shows the user a notification if a run in the background waits. */
async function notifyIfWaiting({ thread, settings }: OpenChat): Promise<void> {
  const { waitingScript } = thread;
  if (waitingScript === undefined || settings.notify !== 'desktop') return;
  await notifyDesktop(`A run waits for your decision: ${ownCommand()} resume ${waitingScript}`);
}

/** Answers a prompt in another process, which continues after this one. `options` are those of the command line. */
export async function chatInBackground(words: readonly string[], options: readonly string[]): Promise<number> {
  const screen = openScreen();
  const input = promptInput(words);
  try {
    const prompt = await readPrompt(input, screen.notice);
    if (prompt !== undefined) return await startInBackground(prompt, options, screen);
    throw new UsageError('--background needs a prompt: toolscript "PROMPT" --background.');
  } finally {
    input.source?.close();
  }
}

/** The placeholders of the options that have a value. */
const VALUES: Readonly<Record<string, string>> = {
  '--file': ' FILE',
  '--image': ' FILE',
  '--output-format': ' json',
  '--output-schema': ' FILE',
  '--output': ' FILE',
};

/** Throws a UsageError for options of the final answer or of JSON output: a conversation has neither. */
function refuseInConversation({ json, print, outputSchema, output, outputFormat, image, file }: ChatFlags): void {
  const given = {
    '--file': file,
    '--image': image,
    '--output-format': outputFormat,
    '--json': json,
    '--print': print,
    '--output-schema': outputSchema,
    '--output': output,
  };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (flag !== undefined)
    throw new UsageError(`${flag} needs a prompt: toolscript chat "PROMPT" ${flag}${VALUES[flag] ?? ''}.`);
}

interface ChatParts {
  /** True if no terminal shows the run. */
  readonly isBackground: boolean;
  readonly opened: OpenChat;
  readonly screen: Screen;
  readonly turns: TurnInterruption;
  readonly finalAnswer: FinalAnswer;
}

async function sayOnce(
  { opened, screen, turns, finalAnswer, isBackground }: ChatParts,
  prompt: string,
  attached: Pick<MessageItem, 'images' | 'files'>,
): Promise<number> {
  const { session, workbench } = opened;
  const { status: ended } = await turns.during(workbench.approvals, (signal) => session.say(prompt, signal, attached));
  const status = await finalAnswer.deliver(ended, session.result);
  await reportPending(opened, screen);
  if (isBackground) await notifyIfWaiting(opened);
  return status;
}
