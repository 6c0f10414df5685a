import { z } from 'zod';

/** `success: true` in a result, for scripts that ask for it. What fails throws, so models are not told of it. */
export const SUCCESS = z.literal(true).meta({ deprecated: true });
