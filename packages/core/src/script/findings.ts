import type { Diagnostic } from '../protocol/index.js';

/** A diagnostic with an offset instead of a line and a column. `offset` refers to the text that was parsed. */
export interface Finding extends Pick<Diagnostic, 'severity' | 'message' | 'code'> {
  readonly offset: number;
}
