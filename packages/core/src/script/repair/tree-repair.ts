import type { Edit } from '../syntax/source-text.js';

/** A note about a repair. `offset` refers to the model's own text. */
export interface RepairNote {
  readonly code: string;
  readonly message: string;
  readonly severity: 'info' | 'warning';
  readonly offset: number;
}

/** Repairs that the syntax tree requires. Edits and notes refer to the text that was parsed. */
export interface TreeRepair {
  readonly edits: readonly Edit[];
  readonly notes: readonly RepairNote[];
}

/** A repair with one note. The note's offset is that of the first edit unless another offset is given. */
export function treeRepair(
  code: string,
  message: string,
  edits: readonly Edit[],
  { offset = edits[0]?.start ?? 0, severity = 'info' }: Partial<Pick<RepairNote, 'offset' | 'severity'>> = {},
): TreeRepair {
  return { edits, notes: [{ code, message, severity, offset }] };
}
