import type { Edit } from './source-text.js';

/** A note about a repair. `offset` counts in the model's own text. */
export interface RepairNote {
  readonly code: string;
  readonly message: string;
  readonly severity: 'info' | 'warning';
  readonly offset: number;
}

/** Repairs that the syntax tree requires. Edits and notes count in the text that was parsed. */
export interface TreeRepair {
  readonly edits: readonly Edit[];
  readonly notes: readonly RepairNote[];
}

/** A repair with one note, placed at the first edit unless another place is given. */
export function treeRepair(
  code: string,
  message: string,
  edits: readonly Edit[],
  { offset = edits[0]?.start ?? 0, severity = 'info' }: Partial<Pick<RepairNote, 'offset' | 'severity'>> = {},
): TreeRepair {
  return { edits, notes: [{ code, message, severity, offset }] };
}
