import { answerSchema, type AnswerSchema } from '@toolscript/core/agent';
import { readJsonFile } from '../configuration/json-files.js';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError, UsageError } from '../usage-error.js';

/** Reads the file of a JSON Schema. Throws a UsageError if the file is missing or its schema is unusable. */
export async function readAnswerSchema(path: string): Promise<AnswerSchema> {
  const name = visibleLine(path);
  const schema = await readJsonFile(path);
  if (schema === undefined) throw new UsageError(`There is no schema ${name}. Name a file with a JSON Schema.`);
  try {
    return answerSchema(schema);
  } catch (error) {
    if (!isUsageError(error)) throw error;
    throw new UsageError(
      `${name} cannot be used as a JSON Schema: ${visibleLine(error.message.replace(/^The schema of the answer /u, 'it '))} Correct the schema.`,
    );
  }
}
