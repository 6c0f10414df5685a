import type { WorkerNotice } from '@toolscript/core/ports';
import type { Run } from '@toolscript/core/protocol';

/** The names of needs, for an operator. */
const NAMES: Readonly<Record<string, string | undefined>> = {
  agent: 'the agent',
  key: 'the suspension key',
  bridge: 'the version of the bridge',
};

const CONTINUES = 'The run continues by itself when such a worker has started.';

/** The reason why a run that `RunStore.list` lists as stuck does not continue, and the fix. */
export function stuckReason({ parked, needs, workspace }: Run, workers: readonly WorkerNotice[]): string {
  if (parked !== undefined) return parked;
  const serving = workers.filter(({ workspaces }) => workspaces?.includes(workspace) ?? true);
  if (workers.length === 0) return `No worker is running. ${CONTINUES}`;
  if (serving.length === 0) return `No worker serves the workspace ${JSON.stringify(workspace)}. ${CONTINUES}`;
  const missing = missingNeeds(needs, new Set(serving.flatMap(({ opens }) => opens)));
  if (missing.length > 0) return `No worker has ${listedNeeds(missing)}. ${CONTINUES}`;
  return `No single worker has ${listedNeeds(needs)}. ${CONTINUES}`;
}

/** The needs of a run that are not among `opens`, each as words. */
export function missingNeeds(needs: readonly string[], opens: ReadonlySet<string>): readonly string[] {
  return needs.filter((need) => !opens.has(need));
}

export function listedNeeds(needs: readonly string[]): string {
  const words = needs.map((need) => {
    const end = need.indexOf(':');
    const name = NAMES[need.slice(0, end)];
    return name === undefined ? need : `${name} ${need.slice(end + 1)}`;
  });
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
