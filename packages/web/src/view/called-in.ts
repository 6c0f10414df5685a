import type { AgentView, CallView, Entry, RunView, ScriptView } from './types.ts';

export interface FoundCall {
  readonly call: CallView;
  /** The script of the call; undefined for a structured call. */
  readonly script: ScriptView | undefined;
}

/** The call with this id in a run, or in one of its sub-agents. */
export function calledIn({ entries }: RunView, callId: string): FoundCall | undefined {
  for (const entry of entries) {
    if (entry.type !== 'script' && entry.type !== 'call') continue;
    const script = entry.type === 'script' ? entry.script : undefined;
    const { agents, calls } = script ?? structured(entry as StructuredCall);
    const call = calls.find((each) => each.callId === callId);
    const found = call === undefined ? calledByAgents(agents, callId) : { call, script };
    if (found !== undefined) return found;
  }
  return undefined;
}

type StructuredCall = Extract<Entry, { type: 'call' }>;

function structured({ agents, call }: StructuredCall): Pick<ScriptView, 'agents' | 'calls'> {
  return { agents, calls: call === undefined ? [] : [call] };
}

function calledByAgents(agents: readonly AgentView[], callId: string): FoundCall | undefined {
  for (const { run } of agents) {
    const found = calledIn(run, callId);
    if (found !== undefined) return found;
  }
  return undefined;
}
