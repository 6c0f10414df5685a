import type { NamedRecord } from '../files/change-records.js';

export type UndoDirection = 'undo' | 'redo';

/** The changes of a script that an undo or a redo would revert now. */
export interface ActiveRecords {
  /** The records of the changes that are in effect, oldest first. */
  readonly changes: readonly NamedRecord[];
  /** The undo that a redo would revert. Undefined unless the newest record is an undo. */
  readonly undone: NamedRecord | undefined;
}

/** Finds the changes that are in effect after all records of a script. The oldest record must come first. */
export function activeRecords(records: readonly NamedRecord[]): ActiveRecords {
  const changes = new Map<string, NamedRecord>();
  let undone: NamedRecord | undefined;
  for (const record of records) {
    if (record.kind === 'undo') for (const name of record.covers) changes.delete(name);
    else if (record.kind === 'redo') restore(changes, record, records);
    else changes.set(record.name, record);
    undone = record.kind === 'undo' ? record : undefined;
  }
  return { changes: [...changes.values()], undone };
}

function restore(changes: Map<string, NamedRecord>, { covers }: NamedRecord, records: readonly NamedRecord[]): void {
  for (const record of records) if (covers.includes(record.name)) changes.set(record.name, record);
}
