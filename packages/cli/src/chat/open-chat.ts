import { agentSystem } from '@toolscript/core/agent';
import type { LoadImage } from '@toolscript/core/history';
import { findAgents } from '../agents/agent-files.js';
import { chooseAgent, settingsOf, type ChosenAgent } from '../agents/choose-agent.js';
import { openModel } from '../agents/open-model.js';
import { repeatedOptions, type ScriptFlags } from '../commands/script-command.js';
import { dataFolder } from '../configuration/locations.js';
import { loadSettings, type Settings } from '../configuration/settings.js';
import type { Engines } from '../harness/engines.js';
import { openWorkbench, type Workbench } from '../harness/workbench.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { readThread } from '../threads/thread-file.js';
import { Thread } from '../threads/thread.js';
import { ThreadFolder, type ListedThread } from '../threads/thread-folder.js';
import { UsageError } from '../usage-error.js';
import { AnswerView } from '../view/answer-view.js';
import { JsonView } from '../view/json-view.js';
import { ChatSession } from './chat-session.js';

export interface ChatFlags extends ScriptFlags {
  /** The agent's slug. */
  agent?: string;
  /** The model's name, or `scripted:FILE`. */
  model?: string;
  /** Go on with the last conversation of the workspace. */
  continue?: boolean;
  /** Go on with this one. */
  thread?: string;
}

export interface OpenChat {
  readonly session: ChatSession;
  readonly thread: Thread;
  readonly workbench: Workbench;
  readonly settings: Settings;
  readonly chosen: ChosenAgent;
  /** A conversation of the same kind that begins anew. */
  anew(): OpenChat;
  close(): Promise<void>;
}

export interface ChatWishes {
  flags: ChatFlags;
  engines: Engines;
  screen: Screen;
  /** The prompt comes from there. */
  stdinIsTaken: boolean;
  /** What Ctrl-C does while a question is open. */
  interrupt: () => void;
}

/** Everything that a conversation needs. Throws UsageErrors. */
// The steps of opening share most of what the others made.
// oxlint-disable-next-line max-lines-per-function
export async function openChat({ flags, engines, screen, stdinIsTaken, interrupt }: ChatWishes): Promise<OpenChat> {
  const warn = (message: string) => screen.warn(`toolscript: ${message}`);
  const loaded = await loadSettings(flags, process.env, warn);
  const folder = new ThreadFolder(dataFolder(process.env).threadsFolder);
  const earlier = earlierThread(folder, flags, loaded.cwd);
  // A conversation goes on with whom it was with, unless somebody else is named.
  const before = earlier === undefined ? undefined : readThread(earlier.path).voice;
  const agent = loaded.named.agent ? loaded.agent : (before?.agent ?? loaded.agent);
  const model = flags.model ?? (loaded.named.agent ? undefined : before?.model);
  const agents = await findAgents(process.env, loaded.cwd, warn, agent);
  const chosen = chooseAgent(agents, { ...loaded, agent }, model, process.env);
  const settings = settingsOf(loaded, chosen, warn);
  const provider = await openModel(chosen, process.env);
  const isJson = flags.json === true;
  const origin = { workspace: settings.cwd, command: 'chat' as const, options: repeatedOptions(flags) };
  const workbench = await openWorkbench({
    settings,
    engines,
    screen,
    origin,
    stdinIsTaken,
    stdoutIsTaken: isJson,
    interrupt,
  });
  const voice = {
    agent: chosen.agent.slug,
    model: chosen.model,
    system: agentSystem(workbench.harness, provider, chosen.agent, settings.mode),
  };
  const loadImage = await imageLoader(settings.cwd);
  const make = (thread: Thread): OpenChat => {
    workbench.kept.store.belongTo(thread.id);
    const view = isJson
      ? new JsonView(screen)
      : new AnswerView(screen, { isDryRun: settings.mode === 'dry-run', model: chosen.model });
    const agent = { ...chosen.agent, mode: settings.mode, limits: {} };
    const session = new ChatSession({ provider, agent, workbench, thread, screen, view, loadImage, isJson });
    return {
      session,
      thread,
      workbench,
      settings,
      chosen,
      anew: () => {
        thread.close();
        return make(Thread.begin(folder, settings.cwd, voice, warn));
      },
      close: async () => {
        thread.close();
        await workbench.close();
      },
    };
  };
  try {
    return make(
      earlier === undefined
        ? Thread.begin(folder, settings.cwd, voice, warn)
        : Thread.reopen(folder, earlier, voice, warn),
    );
  } catch (error) {
    await workbench.close();
    throw error;
  }
}

function earlierThread(
  folder: ThreadFolder,
  { thread, continue: continues }: ChatFlags,
  workspace: string,
): ListedThread | undefined {
  if (thread === undefined && continues !== true) return undefined;
  const found = thread === undefined ? folder.latest(workspace) : folder.find(thread);
  if (found.workspace === workspace) return found;
  throw new UsageError(
    `${found.thread_id} is a conversation about ${visibleLine(found.workspace)}. Name that folder with --cwd.`,
  );
}

async function imageLoader(workspace: string): Promise<LoadImage> {
  const { createWorkspace, loadImage } = await import('@toolscript/tools');
  const opened = createWorkspace({ roots: workspace });
  return ({ path, sha256 }) => loadImage(opened, { path, sha256 });
}
