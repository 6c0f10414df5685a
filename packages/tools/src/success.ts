import { z } from 'zod';

/**
 * `success: true` in a result, for scripts that read it. A failed call throws, so short declarations omit this member.
 */
export const SUCCESS = z.literal(true).meta({ deprecated: true });
