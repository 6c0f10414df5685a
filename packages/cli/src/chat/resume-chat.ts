import type { Decisions } from '@toolscript/core';
import type { AskedAbout } from '../approvals/asked-about.js';
import { EXIT } from '../exit-status.js';
import type { Engines } from '../harness/engines.js';
import { inspectWhole } from '../state/inspect.js';
import { ownCommand } from '../terminal/own-command.js';
import { Screen } from '../terminal/screen.js';
import { ThreadDatabase } from '../threads/thread-database.js';
import { resumedBanner } from '../view/script-report.js';
import { TurnInterruption } from './conversation.js';
import { openChat, type ChatFlags, type OpenChat } from './open-chat.js';
import { demandEnabled, tellWhatWaits } from './waiting.js';

export interface ResumeChatOptions {
  database: ThreadDatabase;
  scriptId: string;
  flags: ChatFlags;
  engines: Engines;
  /** Even from a process that may still go on with it. */
  force: boolean;
  decide: (asked: AskedAbout) => Promise<Decisions>;
}

/** Goes on with a script of a conversation, and lets the model go on with what came of it. */
export async function resumeChat(wishes: ResumeChatOptions): Promise<number> {
  const { database, scriptId, flags, engines, force, decide } = wishes;
  const screen = new Screen(process.stdout, process.stderr, process.env);
  const turns = new TurnInterruption();
  const interrupt = () => turns.interrupt();
  const opened = await openChat({ flags, engines, screen, stdinIsTaken: false, interrupt, database });
  try {
    demandEnabled(opened.settings);
    const details = await inspectWhole(opened.workbench.harness, scriptId);
    const { status } = await turns.during(opened.workbench.approvals, async (signal) => {
      const { harness, approvals, rules, validateInput } = opened.workbench;
      const decisions = await decide({ harness, approvals, rules, validateInput, signal, details });
      const how = { signal, screen, isJson: flags.json === true, force };
      return goOn(opened, scriptId, details.suspension, decisions, how);
    });
    await tellWhatWaits(opened, screen, flags.json === true);
    return status;
  } finally {
    await opened.close();
  }
}

/** Acts on the database of a thread. Undefined where the thread was deleted. */
export async function withThread<Value>(
  threadId: string,
  act: (database: ThreadDatabase) => Promise<Value>,
): Promise<Value | undefined> {
  const database = await ThreadDatabase.open(process.env, (message) => {
    process.stderr.write(`toolscript: ${message}\n`);
  });
  try {
    return (await database.has(threadId)) ? await act(database) : undefined;
  } finally {
    await database.close();
  }
}

async function goOn(
  { session, thread }: OpenChat,
  scriptId: string,
  suspension: string | undefined,
  decisions: Decisions,
  { signal, screen, isJson, force }: { signal: AbortSignal; screen: Screen; isJson: boolean; force: boolean },
): Promise<number> {
  const begin = () => (isJson ? undefined : screen.line(resumedBanner(scriptId, screen.style)));
  if (suspension === undefined) {
    begin();
    const status = await session.recover(scriptId, signal, force);
    if (!isJson && status === EXIT.completed)
      screen.line(`To tell the model of it: ${ownCommand()} --thread ${thread.id} "go on"`);
    return status;
  }
  if (signal.aborted || Object.keys(decisions).length === 0) return EXIT.suspended;
  begin();
  return session.goOn(scriptId, decisions, signal);
}
