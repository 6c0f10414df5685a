import { z } from 'zod';

/** `success: true` in a result, for scripts that read it. Failures throw, so models do not see it. */
export const SUCCESS = z.literal(true).meta({ deprecated: true });
