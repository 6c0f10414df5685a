import { z } from 'zod';

/** A part of what an approval covers, with the SHA-256 of its text. */
export const CoveredPartSchema = z.strictObject({ what: z.string(), sha256: z.string() });
export type CoveredPart = z.infer<typeof CoveredPartSchema>;
