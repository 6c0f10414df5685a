import { z } from 'zod';

export const NAME = z
  .string()
  .max(128)
  .regex(/^[A-Za-z][A-Za-z0-9_.-]*$/u)
  .describe('Letters, digits, "_", "-" and "." after a letter.');
