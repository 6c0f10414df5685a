import { resolve } from 'node:path';
import type { Usage } from '@toolscript/core/protocol';
import type { OutputFormat } from '../program/answer-formats.js';
import type { Screen } from '../terminal/screen.js';
import { jsonText, visible } from '../terminal/untrusted.js';
import { readAnswerSchema } from './answer-schema.js';
import { AnswerFile } from './answer-file.js';

/** The options for the destination and the form of a run's final answer. */
export interface FinalAnswerFlags {
  /** True if only the final answer goes to stdout. */
  print?: boolean | undefined;
  /** The file of a JSON Schema for the final answer. */
  outputSchema?: string | undefined;
  /** The file for the final answer. */
  output?: string | undefined;
  json?: boolean | undefined;
  /** `json`: only a `RunResult` goes to stdout. */
  outputFormat?: OutputFormat | undefined;
}

/** The result of a run, as `--output-format json` prints it. */
export interface RunResult {
  readonly type: 'result';
  readonly thread_id: string;
  readonly status: 'completed' | 'suspended' | 'failed' | 'cancelled' | 'incomplete';
  /** The final answer. Null if there is none. */
  readonly answer: string | null;
  readonly usage?: Usage | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

/** True if only the final answer goes to stdout. A schema implies this, because a program reads the answer. */
export function printsOnlyAnswer({ print, outputSchema, json, outputFormat }: FinalAnswerFlags): boolean {
  return json !== true && outputFormat !== 'json' && (print === true || outputSchema !== undefined);
}

/** The options to repeat in the command that resumes a script of the run. */
export function repeatedAnswerOptions({ print, outputSchema, output, outputFormat }: FinalAnswerFlags): string[] {
  return [
    ...(outputFormat === 'json' ? ['--output-format', 'json'] : []),
    ...(print === true ? ['--print'] : []),
    ...(outputSchema === undefined ? [] : ['--output-schema', resolve(outputSchema)]),
    ...(output === undefined ? [] : ['--output', resolve(output)]),
  ];
}

/** Delivers the final answer of a run. */
export class FinalAnswer {
  /** The JSON Schema that the answer must fit. */
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  readonly #file: AnswerFile | undefined;
  readonly #prints: 'answer' | 'result' | undefined;
  readonly #screen: Screen;

  private constructor(
    {
      outputSchema,
      file,
      prints,
    }: Pick<FinalAnswer, 'outputSchema'> & { file: AnswerFile | undefined; prints: 'answer' | 'result' | undefined },
    screen: Screen,
  ) {
    this.outputSchema = outputSchema;
    this.#file = file;
    this.#prints = prints;
    this.#screen = screen;
  }

  /** Reads the schema and checks the file. Throws a UsageError if one of them is unusable, before a model is asked. */
  static async open(flags: FinalAnswerFlags, screen: Screen): Promise<FinalAnswer> {
    const { outputSchema, output } = flags;
    const schema = outputSchema === undefined ? undefined : await readAnswerSchema(outputSchema);
    const file = output === undefined ? undefined : await AnswerFile.open(output);
    const answer = printsOnlyAnswer(flags) ? 'answer' : undefined;
    const prints = flags.outputFormat === 'json' ? 'result' : answer;
    return new FinalAnswer({ outputSchema: schema?.schema, file, prints }, screen);
  }

  /** Delivers the answer of a run with this exit status, if it has one. Returns the exit status. */
  async deliver(status: number, result: RunResult | undefined): Promise<number> {
    const trimmed = result?.answer?.trim() ?? '';
    const text = trimmed === '' ? '' : `${trimmed}\n`;
    if (typeof result?.answer === 'string') await this.#file?.write(text);
    if (this.#prints === 'answer') this.#write(text);
    if (this.#prints === 'result' && result !== undefined) this.#write(`${jsonText(result)}\n`);
    return status;
  }

  #write(text: string): void {
    this.#screen.write(this.#screen.isTerminal ? visible(text) : text);
  }
}
