import type { Diagnostic } from '../protocol/index.js';

/** A diagnostic before its place is converted to line and column. `offset` counts in the text that was parsed. */
export interface Finding extends Pick<Diagnostic, 'severity' | 'message' | 'code'> {
  readonly offset: number;
}
