import type { Outcome } from '../protocol/index.js';
import { renderOutcomeForModel } from '../history/index.js';
import { SCRIPT_TOOL } from '../text/script-tool.js';

/** The input of a `run_script` call. */
export interface RunScriptInput {
  code: string;
}

/** A JSON Schema that is also a Standard Schema, so that agent libraries of either kind can use it unchanged. */
export interface RunScriptInputSchema {
  readonly type: 'object';
  readonly properties: { readonly code: { readonly type: 'string'; readonly description: string } };
  readonly required: readonly ['code'];
  readonly additionalProperties: false;
  /** This member is not enumerable, so JSON text does not contain it. See https://standardschema.dev. */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'toolscript';
    readonly types?: { readonly input: RunScriptInput; readonly output: RunScriptInput } | undefined;
    validate(value: unknown):
      | { readonly value: RunScriptInput }
      | {
          readonly issues: readonly { readonly message: string; readonly path?: readonly PropertyKey[] | undefined }[];
        };
    readonly jsonSchema: {
      input(options: unknown): Record<string, unknown>;
      output(options: unknown): Record<string, unknown>;
    };
  };
}

/** The harness as one tool for any agent library. The tool takes a script and returns the script's report as text. */
export interface RunScriptTool {
  readonly name: typeof SCRIPT_TOOL;
  readonly description: string;
  readonly inputSchema: RunScriptInputSchema;
  execute(
    input: RunScriptInput,
    options?: { abortSignal?: AbortSignal | undefined; signal?: AbortSignal | undefined },
  ): Promise<string>;
}

export function makeRunScriptTool(
  description: string,
  run: (code: string, signal: AbortSignal | undefined) => Promise<Outcome>,
  tokenBudget: number,
): RunScriptTool {
  return Object.freeze({
    name: SCRIPT_TOOL,
    description,
    inputSchema: makeInputSchema(),
    async execute(
      input: RunScriptInput,
      options?: { abortSignal?: AbortSignal | undefined; signal?: AbortSignal | undefined },
    ): Promise<string> {
      const code = readCode(input);
      const outcome = await run(code, options?.abortSignal ?? options?.signal);
      return renderOutcomeForModel(outcome, { tokenBudget, source: code });
    },
  });
}

function readCode(input: unknown): string {
  const code = typeof input === 'string' ? input : (input as Partial<RunScriptInput> | null | undefined)?.code;
  // Invalid input from a model is not the host's mistake, so the script fails with an explanation.
  return typeof code === 'string'
    ? code
    : 'throw new TypeError("run_script needs { code: string }: the TypeScript to run");';
}

function makeInputSchema(): RunScriptInputSchema {
  const schema = {
    type: 'object',
    properties: { code: { type: 'string', description: 'TypeScript with top-level await and return' } },
    required: ['code'],
    additionalProperties: false,
  };
  Object.defineProperty(schema, '~standard', {
    enumerable: false,
    value: {
      version: 1,
      vendor: 'toolscript',
      validate(value: unknown) {
        const valid = typeof value === 'object' && value !== null && typeof (value as RunScriptInput).code === 'string';
        return valid ? { value } : { issues: [{ message: 'expected { code: string }', path: ['code'] }] };
      },
      jsonSchema: { input: () => ({ ...schema }), output: () => ({ ...schema }) },
    },
  });
  return schema as unknown as RunScriptInputSchema;
}
