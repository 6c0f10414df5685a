import { createContext, use } from 'react';
import type { CallView, ScriptView } from '../view/types.ts';

/** The selected call of a conversation. It is the same in the waterfall, the source, the table and the details. */
export interface Selection {
  readonly callId: string | undefined;
  select(call: CallView | undefined, script?: ScriptView): void;
}

export const SelectionContext = createContext<Selection>({ callId: undefined, select: () => undefined });

export function useSelection(): Selection {
  return use(SelectionContext);
}
