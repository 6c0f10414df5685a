import { resolve } from 'node:path';
import { EXIT } from '../exit-status.js';
import type { Screen } from '../terminal/screen.js';
import { jsonText, visible, visibleLine } from '../terminal/untrusted.js';
import type { AnswerSchema } from '@toolscript/core/agent';
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
}

/** The part of a conversation that produces a final answer. */
export interface AskedModel {
  /** Sends a prompt to the model. Returns the exit status. */
  readonly say: (prompt: string) => Promise<number>;
  /** The final answer of the last run; undefined if it has none. */
  readonly answer: () => string | undefined;
}

/** True if only the final answer goes to stdout. A schema implies this, because a program reads the answer. */
export function printsOnlyAnswer({ print, outputSchema, json }: FinalAnswerFlags): boolean {
  return json !== true && (print === true || outputSchema !== undefined);
}

/** The options to repeat in the command that resumes a script of the run. */
export function repeatedAnswerOptions({ print, outputSchema, output }: FinalAnswerFlags): string[] {
  return [
    ...(print === true ? ['--print'] : []),
    ...(outputSchema === undefined ? [] : ['--output-schema', resolve(outputSchema)]),
    ...(output === undefined ? [] : ['--output', resolve(output)]),
  ];
}

/** Checks and delivers the final answer of a run. */
export class FinalAnswer {
  readonly #schema: AnswerSchema | undefined;
  readonly #file: AnswerFile | undefined;
  readonly #prints: boolean;
  readonly #screen: Screen;

  private constructor(
    places: { schema: AnswerSchema | undefined; file: AnswerFile | undefined; prints: boolean },
    screen: Screen,
  ) {
    this.#schema = places.schema;
    this.#file = places.file;
    this.#prints = places.prints;
    this.#screen = screen;
  }

  /** Reads the schema and checks the file. Throws a UsageError if one of them is unusable, before a model is asked. */
  static async open(flags: FinalAnswerFlags, screen: Screen): Promise<FinalAnswer> {
    const { outputSchema, output } = flags;
    const schema = outputSchema === undefined ? undefined : await readAnswerSchema(outputSchema);
    const file = output === undefined ? undefined : await AnswerFile.open(output);
    return new FinalAnswer({ schema, file, prints: printsOnlyAnswer(flags) }, screen);
  }

  /** The prompt, with a request for JSON if a schema is set. */
  prompt(said: string): string {
    return this.#schema === undefined ? said : `${said}\n\n${this.#schema.request}`;
  }

  /**
   * Delivers the answer of a run with this status. Asks the model once to repair an answer that does not fit the
   * schema. Returns the exit status.
   */
  async deliver(status: number, model: AskedModel): Promise<number> {
    const answer = model.answer();
    if (answer === undefined) return status;
    if (this.#schema === undefined) return this.#put(answer.trim(), status);
    const first = this.#schema.check(answer);
    if (first.ok) return this.#put(jsonText(first.value), status);
    const repaired = await model.say(this.#schema.repair(first.problem));
    const again = model.answer();
    if (again === undefined) return repaired === EXIT.completed ? EXIT.failed : repaired;
    const second = this.#schema.check(again);
    if (second.ok) return this.#put(jsonText(second.value), repaired);
    this.#screen.notice(
      `The final answer does not fit the JSON Schema, even after one repair: ${visibleLine(second.problem)}. Make the schema simpler, or use a stronger model.`,
    );
    return EXIT.failed;
  }

  async #put(answer: string, status: number): Promise<number> {
    const text = answer === '' ? '' : `${answer}\n`;
    await this.#file?.write(text);
    if (this.#prints) this.#screen.write(this.#screen.isTerminal ? visible(text) : text);
    return status;
  }
}
