import type { AgentConfig } from '@toolscript/core/agent';
import type { Thread as StoredThread } from '@toolscript/core/protocol';
import type { PromptFile } from '@toolscript/tools';
import { ThreadRuns, type ThreadRunsSettings } from '@toolscript/service';
import { findAgents } from '../agents/agent-files.js';
import { withEnvironment } from '../agents/environment-block.js';
import { chooseAgent, agentSettings, type ChosenAgent } from '../agents/choose-agent.js';
import { openModel } from '../agents/open-model.js';
import { withProjectInstructions } from '../agents/project-instructions.js';
import { openSubAgents } from '../agents/sub-agents.js';
import { repeatedOptions, type ScriptFlags } from '../commands/script-command.js';
import type { PermissionModeName } from '../approvals/permission-mode.js';
import { findPrompts } from '../configuration/prompt-files.js';
import { loadSettings, type Settings } from '../configuration/settings.js';
import type { Engines } from '../harness/engines.js';
import { openCliHarness, type CliHarness, type CliHarnessOptions } from '../harness/cli-harness.js';
import { imageLoader } from '../harness/image-loader.js';
import { pruneDaily } from '../state/persistent-state.js';
import type { Screen } from '../terminal/screen.js';
import { shellWord } from '../terminal/own-command.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { ThreadDatabase, throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';
import { AnswerView, silentView, type EventView } from '../view/answer-view.js';
import { JsonView } from '../view/json-view.js';
import { ChatSession } from './chat-session.js';
import { printsOnlyAnswer, repeatedAnswerOptions, type FinalAnswerFlags } from './final-answer.js';

export interface ChatFlags extends ScriptFlags, FinalAnswerFlags {
  /** The agent's slug. */
  agent?: string | undefined;
  /** The model's name, or `scripted:FILE`. */
  model?: string | undefined;
  /** How much the model should reason, in place of the agent's own setting. */
  effort?: AgentConfig['reasoningEffort'];
  /** The files of the images that belong to the prompt. */
  image?: string[] | undefined;
  /** The PDFs and recordings that belong to the prompt. */
  file?: string[] | undefined;
  /** True if the process reports the ids of its run to its parent process, as `RunIds`. */
  announceRun?: boolean | undefined;
  /** True to continue the last conversation of the workspace. */
  continue?: boolean | undefined;
  /** The mode of the conversation that began this one in the background. */
  permission?: PermissionModeName | undefined;
  /** The id of the conversation's run to continue, once no other process works on the run. */
  takeOver?: string | undefined;
  /** The id of the conversation to continue. */
  thread?: string | undefined;
}

export interface OpenChat {
  readonly session: ChatSession;
  readonly thread: ThreadRuns;
  readonly workbench: CliHarness;
  readonly settings: Settings;
  readonly chosen: ChosenAgent;
  readonly view: EventView;
  /** True if stdout carries only data. */
  readonly isQuiet: boolean;
  /** The options that a command must repeat to continue in the same way. */
  readonly options: readonly string[];
  /** The user's own commands. */
  readonly prompts: readonly PromptFile[];
  /** The paths of the files with instructions for the model. */
  readonly instructionFiles: readonly string[];
  readonly database: ThreadDatabase;
  /** Starts a new conversation with the same options. */
  anew(): OpenChat;
  close(): Promise<void>;
}

export interface ChatOptions {
  flags: ChatFlags;
  engines: Engines;
  screen: Screen;
  /** True if stdin carries the prompt. */
  stdinIsTaken: boolean;
  /** Called on Ctrl-C while a question is open. */
  interrupt: () => void;
  /** The JSON Schema of the final answers. */
  outputSchema?: Readonly<Record<string, unknown>> | undefined;
  /** The view of the runs, for a conversation that another program shows. Default: the screen. */
  view?: EventView | undefined;
  askElsewhere?: CliHarnessOptions['askElsewhere'];
  /** Called when everything but the conversation itself is open. */
  beforeReopen?: ((stored: StoredThread, stores: ThreadDatabase['stores']) => Promise<void>) | undefined;
  /** The database of the conversations, if it is open already; the caller closes it. */
  database?: ThreadDatabase | undefined;
}

/** Opens a conversation, with its settings, agent, model and tools. Throws UsageErrors. */
export async function openChat(options: ChatOptions): Promise<OpenChat> {
  if (options.database !== undefined) return openChatOver(options.database, options);
  const database = await ThreadDatabase.open(process.env);
  try {
    const opened = await openChatOver(database, options);
    return closingDatabase(opened, database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function closingDatabase(chat: OpenChat, database: ThreadDatabase): OpenChat {
  const close = async () => {
    await chat.close();
    await database.close();
  };
  return { ...chat, anew: () => closingDatabase(chat.anew(), database), close };
}

// Each step needs most results of the earlier ones.
// oxlint-disable-next-line max-lines-per-function
async function openChatOver(
  database: ThreadDatabase,
  { flags, engines, screen, stdinIsTaken, interrupt, outputSchema, view: otherView, ...more }: ChatOptions,
): Promise<OpenChat> {
  const warn = screen.notice;
  const loaded = await loadSettings(flags, process.env, warn);
  const earlier = await earlierThread(database, flags, loaded.cwd);
  // A conversation continues with its agent, unless the user names an agent.
  const before = earlier === undefined ? undefined : await database.stores.threads.instructions(earlier.threadId);
  const agent = loaded.named.agent ? loaded.agent : (before?.agentId ?? loaded.agent);
  const model = flags.model ?? (loaded.named.agent ? undefined : before?.model);
  const agents = await findAgents(process.env, loaded.cwd, warn, agent);
  const chosen = chooseAgent(agents, { ...loaded, agent }, model, process.env);
  const settings = agentSettings(loaded, chosen, warn);
  const provider = await openModel(chosen, process.env);
  const isJson = flags.json === true;
  const isQuiet = otherView !== undefined || isJson || printsOnlyAnswer(flags) || flags.outputFormat === 'json';
  const effort = flags.effort === undefined ? [] : ['--effort', flags.effort];
  const options = [...repeatedOptions(flags), ...effort, ...repeatedAnswerOptions(flags)];
  const origin = { workspace: settings.cwd, command: 'chat' as const, options };
  const prompts = await findPrompts(process.env, settings.cwd, warn);
  const cabinet = { documents: database.stores.documents, workspace: settings.cwd, prompts };
  const subAgents = await openSubAgents(chosen.agent, { settings, cabinet, warn });
  const workbench = await openCliHarness({
    more: subAgents?.tools,
    settings,
    engines,
    screen,
    origin,
    cabinet,
    scripts: chosen.agent.scripts,
    stdinIsTaken,
    stdoutIsTaken: isQuiet,
    interrupt,
    askElsewhere: more.askElsewhere,
  });
  if (flags.permission !== undefined) workbench.approvals.mode.current = flags.permission;
  const { agent: instructed, files: instructionFiles } = await withProjectInstructions(
    chosen.agent,
    process.env,
    settings.cwd,
    warn,
  );
  const situated = await withEnvironment(instructed, settings.cwd, before?.system);
  const reasoningEffort = flags.effort ?? situated.reasoningEffort;
  const agentOfRuns = { ...situated, mode: settings.mode, limits: {}, reasoningEffort };
  const threadSettings: ThreadRunsSettings = {
    stores: database.stores,
    log: database.log,
    workspace: settings.cwd,
    opened: {
      agent: agentOfRuns,
      provider,
      model: chosen.model,
      harness: workbench.harness,
      context: { workingDirectory: settings.cwd },
      loadImage: await imageLoader(settings.cwd, () => workbench.servers),
      subAgents,
      outputSchema,
    },
    onLost: (reason) => warn(visible(reason)),
  };
  const make = (thread: ThreadRuns): OpenChat => {
    workbench.kept.store.setThread(thread.id);
    const isDryRun = settings.mode === 'dry-run';
    const view = otherView ?? viewFor(screen, { isJson, isQuiet, isDryRun, model: chosen.model });
    const session = new ChatSession({ agent: agentOfRuns, settings, workbench, thread, screen, view, isQuiet });
    return {
      session,
      thread,
      workbench,
      settings,
      chosen,
      view,
      isQuiet,
      options,
      prompts,
      instructionFiles,
      database,
      anew: () => make(ThreadRuns.begin(threadSettings)),
      close: async () => {
        await pruneDaily(workbench.kept, database);
        await workbench.close();
      },
    };
  };
  try {
    if (earlier === undefined) return make(ThreadRuns.begin(threadSettings));
    await more.beforeReopen?.(earlier, database.stores);
    return make(await throughStore(ThreadRuns.reopen(earlier.threadId, threadSettings)));
  } catch (error) {
    await workbench.close();
    throw error;
  }
}

function viewFor(
  screen: Screen,
  { isJson, isQuiet, ...shown }: { isJson: boolean; isQuiet: boolean; isDryRun: boolean; model: string },
): EventView {
  if (isJson) return new JsonView(screen);
  return isQuiet ? silentView : new AnswerView(screen, shown);
}

async function earlierThread(
  database: ThreadDatabase,
  { thread, continue: continues }: ChatFlags,
  workspace: string,
): Promise<StoredThread | undefined> {
  if (thread === undefined && continues !== true) return undefined;
  const found = await (thread === undefined ? database.latest(workspace) : database.find(thread));
  if (found.workspace === workspace) return found;
  throw new UsageError(
    `${found.threadId} is a conversation about ${visibleLine(found.workspace)}. To continue it, add: --cwd ${shellWord(found.workspace)}`,
  );
}
