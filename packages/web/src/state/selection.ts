import { createContext, use } from 'react';
import type { CallView, ScriptView } from '../view/types.ts';

/** The selected call of a conversation. It is the same in the waterfall, the source, the table and the details. */
export interface Selection {
  readonly callId: string | undefined;
  /** `runId`: the run of the call. */
  readonly select: (call: CallView | undefined, script?: ScriptView, runId?: string) => void;
}

export const SelectionContext = createContext<Selection>({ callId: undefined, select: () => undefined });

/** The run whose entries are shown. */
export const RunIdContext = createContext<string | undefined>(undefined);

export function useSelection(): Selection {
  const { callId, select } = use(SelectionContext);
  const runId = use(RunIdContext);
  return { callId, select: (call, script) => select(call, script, runId) };
}
