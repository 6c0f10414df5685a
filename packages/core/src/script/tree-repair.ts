import type { Edit } from './edits.js';

/** What was repaired. `offset` counts in the model's own text. */
export interface RepairNote {
  readonly code: string;
  readonly message: string;
  readonly severity: 'info' | 'warning';
  readonly offset: number;
}

/** What the syntax tree shows to be needed. Edits and notes count in the text that was parsed. */
export interface TreeRepair {
  readonly edits: readonly Edit[];
  readonly notes: readonly RepairNote[];
}

/** A repair with one note, which stands where the first edit is unless it is told another place. */
export function treeRepair(
  code: string,
  message: string,
  edits: readonly Edit[],
  { offset = edits[0]?.start ?? 0, severity = 'info' }: Partial<Pick<RepairNote, 'offset' | 'severity'>> = {},
): TreeRepair {
  return { edits, notes: [{ code, message, severity, offset }] };
}
