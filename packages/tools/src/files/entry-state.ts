import { z } from 'zod';

/** The state of one path, as a change record stores it. */
export const EntryState = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('absent') }),
  z.object({ kind: z.literal('link'), target: z.string() }),
  z.object({
    kind: z.literal('file'),
    /** SHA-256 of the content, in base64url. */
    sha256: z.string().regex(/^[\w-]{43}$/),
    bytes: z.number(),
    /** Permission bits; undefined for a new file, which gets the system's default. */
    mode: z.number().optional(),
    uid: z.number().optional(),
    gid: z.number().optional(),
  }),
]);
export type EntryState = z.infer<typeof EntryState>;

/** Whether both states have the same kind and content. The permissions may differ. */
export function sameState(one: EntryState, other: EntryState): boolean {
  if (one.kind === 'file') return other.kind === 'file' && one.sha256 === other.sha256;
  if (one.kind === 'link') return other.kind === 'link' && one.target === other.target;
  return other.kind === 'absent';
}
