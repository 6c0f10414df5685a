import type { RunPage } from '@toolscript/core/ports';
import { ACTIVE_RUN_STATES, type Run, type StreamEvent, type Thread as StoredThread } from '@toolscript/core/protocol';
import { allPageItems, LOCAL_PRINCIPAL, stopRun, streamRun } from '@toolscript/service';
import { EXIT } from '../exit-status.js';
import { Interruption } from '../interruption.js';
import { theOne } from '../state/find-script.js';
import { ownCommand } from '../terminal/own-command.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { jsonText, visibleLine, visibleTitle } from '../terminal/untrusted.js';
import { cutToWidth } from '../terminal/width.js';
import { ThreadDatabase, throughStore } from '../threads/thread-database.js';
import { AnswerView } from '../view/answer-view.js';
import { JsonView } from '../view/json-view.js';
import { ago } from '../view/values.js';

export interface RunsFlags {
  all?: boolean | undefined;
  json?: boolean | undefined;
}

/** The maximum number of ended runs that `--all` lists. */
const MAX_ENDED = 50;

/** Lists the runs that have not ended, of every process of this user. */
export function listRuns({ all = false, json = false }: RunsFlags): Promise<number> {
  return onRuns(async (database, screen) => {
    const runs = await userRuns(database, all);
    const titles = new Map((await database.list()).map((thread) => [thread.threadId, thread]));
    if (json)
      screen.write(
        `${jsonText(
          runs.map((run) => listedRun(run, titles.get(run.threadId))),
          2,
        )}\n`,
      );
    else for (const line of listLines(runs, titles, { all, screen })) screen.line(line);
    return EXIT.completed;
  });
}

/** Shows a run from its first event to its end, or until the user leaves it with Ctrl-C. The run does not stop then. */
export function attachToRun(id: string, { json = false }: RunsFlags): Promise<number> {
  return onRuns(async (database, screen) => {
    const { runId } = await findRun(database, id);
    const { stores, log } = database;
    const view = json ? new JsonView(screen) : new AnswerView(screen, { isDryRun: false, model: 'the model' });
    const interruption = new Interruption();
    let last: StreamEvent['payload'] | undefined;
    try {
      const events = streamRun(stores, log, runId, { from: 0, signal: interruption.signal });
      for await (const event of events) {
        view.take(event);
        last = event.payload;
        // A suspended run may continue much later.
        if (last.type === 'response_done') break;
      }
    } finally {
      view.end();
      interruption.dispose();
    }
    return reportEnd(last, interruption.status, screen);
  });
}

/** Cancels runs. A process that works on one stops within seconds. */
export function stopRuns(ids: readonly string[]): Promise<number> {
  return onRuns(async (database, screen) => {
    for (const id of ids) {
      const { runId } = await findRun(database, id);
      const run = await throughStore(stopRun(database, runId));
      const isEnded = run === undefined || !isActive(run);
      screen.line(isEnded ? `${runId} has ended.` : `${runId} stops as soon as its process sees the request.`);
    }
    return EXIT.completed;
  });
}

function reportEnd(last: StreamEvent['payload'] | undefined, left: number | undefined, screen: Screen): number {
  if (left !== undefined) {
    screen.notice('You have left the run. It continues.');
    return left;
  }
  if (last?.type === 'response_error') screen.notice(`${visibleLine(last.code)}: ${visibleLine(last.message)}`);
  if (last?.type !== 'response_done') return EXIT.failed;
  if (last.status === 'suspended') {
    if (last.script_id !== undefined)
      screen.notice(`A script waits for your decision. To decide: ${ownCommand()} resume ${last.script_id}`);
    return EXIT.suspended;
  }
  return last.status === 'completed' ? EXIT.completed : EXIT.failed;
}

function isActive({ state }: Run): boolean {
  return (ACTIVE_RUN_STATES as readonly string[]).includes(state);
}

/** The user's runs that have not ended, then, with `all`, the newest ones that have ended. Each list is newest first. */
async function userRuns({ stores }: ThreadDatabase, all: boolean): Promise<Run[]> {
  const own = { principal: LOCAL_PRINCIPAL };
  const active = await Promise.all(
    ACTIVE_RUN_STATES.map((state) =>
      throughStore(
        allPageItems<RunPage, Run>(
          (after) => stores.runs.list({ ...own, state, ...after }),
          (page) => page.runs,
        ),
      ),
    ),
  );
  const newest = (runs: readonly Run[]) => runs.toSorted((one, other) => other.createdAt - one.createdAt);
  const ended = all ? (await throughStore(allUserRuns(stores.runs))).filter((run) => !isActive(run)) : [];
  return [...newest(active.flat()), ...newest(ended).slice(0, MAX_ENDED)];
}

function allUserRuns(runs: ThreadDatabase['stores']['runs']): Promise<Run[]> {
  return allPageItems<RunPage, Run>(
    (after) => runs.list({ principal: LOCAL_PRINCIPAL, ...after }),
    (page) => page.runs,
  );
}

/** The run whose id is this text, or the only one whose id begins with it. */
async function findRun(database: ThreadDatabase, text: string): Promise<Run> {
  const exact = await throughStore(database.stores.runs.get(text, { principal: LOCAL_PRINCIPAL }));
  if (exact !== undefined) return exact;
  return theOne(await throughStore(allUserRuns(database.stores.runs)), text, ({ runId }) => runId, {
    prefix: 'run_',
    none: `There is no run ${visibleLine(text)}. To list the runs: ${ownCommand()} runs --all`,
    several: 'Several runs begin with',
  });
}

function listedRun({ runId, threadId, state, workspace, createdAt }: Run, thread: StoredThread | undefined) {
  const title = thread?.title ?? null;
  return { runId, threadId, state, title, workspace, createdAt: new Date(createdAt).toISOString() };
}

function listLines(
  runs: readonly Run[],
  threads: ReadonlyMap<string, StoredThread>,
  { all, screen }: { all: boolean; screen: Screen },
): string[] {
  if (runs.length === 0) return [all ? 'There are no runs.' : 'No run is active; --all shows those that have ended.'];
  const fit = (line: string) => (screen.isTerminal ? cutToWidth(line, screen.columns) : line);
  return runs.flatMap(({ runId, threadId, state, createdAt, workspace }) => [
    fit(
      `${runId}  ${state}  ${ago(Date.now() - createdAt)}  ${visibleTitle(threads.get(threadId)?.title ?? threadId)}`,
    ),
    screen.style.dim(fit(`    in ${visibleLine(workspace)}`)),
  ]);
}

async function onRuns(act: (database: ThreadDatabase, screen: Screen) => Promise<number>): Promise<number> {
  const screen = openScreen();
  const database = await ThreadDatabase.open(process.env);
  try {
    return await act(database, screen);
  } finally {
    await database.close();
  }
}
