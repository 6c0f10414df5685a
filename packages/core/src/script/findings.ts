import type { Diagnostic } from '../protocol/index.js';

/** A diagnostic whose place is still an offset. `offset` counts in the text that was parsed. */
export interface Finding extends Pick<Diagnostic, 'severity' | 'message' | 'code'> {
  readonly offset: number;
}
