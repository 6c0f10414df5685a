import type { StandardSchemaV1 } from '@modelcontextprotocol/client';

/** Accepts any result of a request: one invalid part must not hide all others. */
export const ANY_RESULT: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'toolscript', validate: (value) => ({ value }) },
};
