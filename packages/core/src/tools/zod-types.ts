import type { z } from 'zod';

export type ZodSchema = z.core.$ZodType;
