import type { Attachment } from './attachments.tsx';

/** A prompt in the field, or one that is sent. */
export interface Prompt {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** The turn of an earlier message that this prompt replaces in a new branch. */
  readonly branchBefore?: string | undefined;
}
