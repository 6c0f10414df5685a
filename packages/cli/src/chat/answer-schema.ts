import { defineTool } from '@toolscript/core';
import { z } from 'zod';
import { readJsonFile } from '../configuration/read-json.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { isUsageError, UsageError } from '../usage-error.js';

/** A final answer: its JSON on one line, or why it does not match the schema. */
type Checked = { readonly ok: true; readonly json: string } | { readonly ok: false; readonly problem: string };

/** The JSON Schema of a final answer. */
export interface AnswerSchema {
  /** The instruction that asks for such an answer. It ends the prompt. */
  readonly request: string;
  check(answer: string): Checked;
}

const MAX_ISSUES = 5;

/** Reads a JSON Schema. Throws a UsageError if the file has none. */
export async function readAnswerSchema(path: string): Promise<AnswerSchema> {
  const name = visibleLine(path);
  const schema = await readJsonFile(path);
  if (schema === undefined) throw new UsageError(`There is no schema ${name}. Name a file with a JSON Schema.`);
  const validate = validator(schema, name);
  return {
    request: `End with an answer that is one JSON value and nothing else: no other text, no code fence. It must be valid for this JSON Schema:\n${JSON.stringify(schema)}`,
    check(answer) {
      const text = withoutFence(answer.trim());
      if (text === '') return { ok: false, problem: 'it is empty' };
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (error) {
        return { ok: false, problem: `it is not JSON: ${(error as Error).message}` };
      }
      const problem = validate(value);
      return problem === undefined ? { ok: true, json: jsonText(value) } : { ok: false, problem };
    },
  };
}

/** Validates values: returns why one does not match the schema; undefined if it does. */
function validator(schema: unknown, name: string): (value: unknown) => string | undefined {
  const { validateOutput } = compiled(schema, name);
  return (value) => {
    const result = validateOutput(value);
    if (result.ok) return undefined;
    return result.issues
      .slice(0, MAX_ISSUES)
      .map(({ path, message }) => `answer${path.replace(/^args/u, '')}: ${message}`)
      .join('; ');
  };
}

/** The library compiles JSON Schemas as the outputs of tools. */
function compiled(schema: unknown, name: string) {
  try {
    return defineTool({
      name: 'answer',
      description: 'The final answer.',
      effect: 'read',
      input: z.object({}),
      outputSchema: schema as object,
      execute: () => ({}),
    });
  } catch (error) {
    if (!isUsageError(error)) throw error;
    throw new UsageError(
      `${name} cannot be used as a JSON Schema: ${visibleLine(error.message.replace(/^The output of the tool "answer" /u, 'it '))}`,
    );
  }
}

/** Models often write JSON in a code fence, even if the prompt forbids it. */
function withoutFence(text: string): string {
  return /^```(?:json)?\s*\n(.*)\n```$/su.exec(text)?.[1] ?? text;
}
