import type { Decisions } from '@toolscript/core';
import type { AskedAbout } from '../approvals/asked-about.js';
import { EXIT } from '../exit-status.js';
import type { Engines } from '../harness/engines.js';
import { inspectWhole } from '../state/inspect.js';
import { openScreen } from '../terminal/screen.js';
import { ThreadDatabase } from '../threads/thread-database.js';
import { showResumedScript } from '../view/resumed-script.js';
import { TurnInterruption } from './conversation.js';
import { FinalAnswer } from './final-answer.js';
import { openChat, type ChatFlags } from './open-chat.js';
import { demandEnabledMode, reportPending } from './waiting.js';

export interface ResumeChatOptions {
  database: ThreadDatabase;
  scriptId: string;
  flags: ChatFlags;
  engines: Engines;
  /** Claims the script even if another process may still run it. */
  force: boolean;
  decide: (asked: AskedAbout) => Promise<Decisions>;
}

/** Resumes a script of a conversation, and lets the model continue with its result. */
export async function resumeChat(options: ResumeChatOptions): Promise<number> {
  const { database, scriptId, flags, engines, force, decide } = options;
  const screen = openScreen();
  const turns = new TurnInterruption();
  const interrupt = () => turns.interrupt();
  const finalAnswer = await FinalAnswer.open(flags, screen);
  const { outputSchema } = finalAnswer;
  const opened = await openChat({ flags, engines, screen, stdinIsTaken: false, interrupt, database, outputSchema });
  try {
    demandEnabledMode(opened.settings);
    const details = await inspectWhole(opened.workbench.harness, scriptId);
    const { status: ended } = await turns.during(opened.workbench.approvals, async (signal) => {
      const { harness, approvals, rules, validateInput } = opened.workbench;
      const decisions = await decide({ harness, approvals, rules, validateInput, signal, details });
      const isInterrupted = details.suspension === undefined;
      if (signal.aborted || (!isInterrupted && Object.keys(decisions).length === 0)) return EXIT.suspended;
      if (!opened.isQuiet) showResumedScript(screen, opened.view, details);
      return opened.session.resume({ scriptId, decisions, isInterrupted, force }, signal);
    });
    const status = await finalAnswer.deliver(ended, opened.session.result);
    await reportPending(opened, screen);
    return status;
  } finally {
    await opened.close();
  }
}

/** Calls `act` with the database of a thread. Returns undefined if the thread was deleted. */
export async function withThread<Value>(
  threadId: string,
  act: (database: ThreadDatabase) => Promise<Value>,
): Promise<Value | undefined> {
  const database = await ThreadDatabase.open(process.env);
  try {
    return (await database.has(threadId)) ? await act(database) : undefined;
  } finally {
    await database.close();
  }
}
