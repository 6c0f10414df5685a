import { defineTool } from '@toolscript/core';
import type { ElicitationAnswer, ElicitationRequest } from '@toolscript/mcp';
import { hasTerminal, type Environment, type Style } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { editText } from './editor.js';
import { readAfterGuard } from './guarded-keys.js';
import { CTRL_C } from './question.js';
import type { QuestionTerminal } from './question-terminal.js';

type Content = NonNullable<ElicitationAnswer['content']>;

export interface FormOptions {
  readonly style: Style;
  readonly environment: Environment;
  /** Called on Ctrl-C. */
  readonly interrupt: () => void;
  /** Aborts when the server no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/**
 * Handlers that cancel every question of a server. A command that makes no calls passes these handlers, so that servers
 * offer the same tools to this command as to other commands at a terminal.
 */
export function cancelQuestions(): { onElicitation?: (() => Promise<ElicitationAnswer>) | undefined } {
  return hasTerminal() ? { onElicitation: async () => ({ action: 'cancel' }) } : {};
}

/** Asks the user the question of an MCP server: shows a form in the user's editor, or an address to open. */
export async function askForm(
  terminal: QuestionTerminal,
  request: ElicitationRequest,
  options: FormOptions,
): Promise<ElicitationAnswer> {
  const form = request.mode === 'url' ? undefined : new Form(request.requestedSchema ?? {});
  terminal.write(formHead(request, form, options.style));
  const prompt = form === undefined ? '  [y] opened  [n] no: ' : '  [e] fill in  [y] send  [n] no: ';
  for (;;) {
    const key = await nextKey(terminal, prompt, options.signal);
    if (key === undefined) return { action: 'cancel' };
    if (key.includes(CTRL_C)) {
      options.interrupt();
      return { action: 'cancel' };
    }
    if (key.toLowerCase() === 'n') return writeAnswer(terminal, 'no', { action: 'decline' });
    if (key.toLowerCase() === 'y' && form === undefined) return writeAnswer(terminal, 'opened', { action: 'accept' });
    if (key.toLowerCase() === 'y') {
      const problem = form!.problem();
      if (problem === undefined) return writeAnswer(terminal, 'sent', { action: 'accept', content: form!.content });
      terminal.write(
        `\n  The answer was not sent: ${visibleLine(problem)}. [e] changes the answer, [n] declines the question.\n`,
      );
    } else if (key.toLowerCase() === 'e' && form !== undefined) terminal.write(await form.edit(terminal, options));
    else terminal.write('\n');
  }
}

function writeAnswer(terminal: QuestionTerminal, word: string, answer: ElicitationAnswer): ElicitationAnswer {
  terminal.write(`${word}\n`);
  return answer;
}

function formHead({ server, message, url, host }: ElicitationRequest, form: Form | undefined, style: Style): string {
  const lines = [
    '',
    `${style.yellow('?')} ${style.bold(`The MCP server ${visibleLine(server)} asks you`)}`,
    ...visible(message)
      .split('\n')
      .map((line) => `  ${line}`),
    ...(url === undefined ? [] : [`  It asks you to open a page of ${visibleLine(host ?? '')}: ${visibleLine(url)}`]),
    ...(form?.lines() ?? []),
    style.dim('  The server gets your answer. Give it no password and no key.'),
    '',
  ];
  return lines.join('\n');
}

/** The values of a form as JSON. The schema comes from the server and is untrusted. */
class Form {
  content: Content;
  readonly #fields: Readonly<Record<string, Record<string, unknown>>>;
  readonly #requiredFields: readonly unknown[];
  readonly #validate: (value: unknown) => string | undefined;

  constructor(schema: Readonly<Record<string, unknown>>) {
    const { properties, required } = schema as {
      properties?: Record<string, Record<string, unknown>> | undefined;
      required?: unknown;
    };
    this.#fields = properties ?? {};
    this.#requiredFields = Array.isArray(required) ? (required as unknown[]) : [];
    this.content = Object.fromEntries(
      Object.entries(this.#fields).flatMap(([name, field]) => {
        const value = field['default'];
        return value === undefined ? [] : [[name, value]];
      }),
    ) as Content;
    this.#validate = fieldValidator(schema);
  }

  lines(): string[] {
    return Object.entries(this.#fields).map(([name, field]) => {
      const { title, description } = field;
      const about = [title, description].filter((text) => typeof text === 'string').join(': ');
      const needed = this.#requiredFields.includes(name) ? ', required' : '';
      return `    ${visibleLine(`${name} (${fieldKind(field)}${needed})${about === '' ? '' : `  ${about}`}`)}`;
    });
  }

  /** Returns why the content cannot be sent; undefined if it can. */
  problem(): string | undefined {
    return this.#validate(this.content);
  }

  /** Opens the editor. Returns the text for the user. */
  async edit(terminal: QuestionTerminal, { environment }: FormOptions): Promise<string> {
    terminal.write('edit\n');
    const empty = Object.fromEntries(Object.keys(this.#fields).map((name) => [name, this.content[name] ?? null]));
    try {
      const text = await editText(`${JSON.stringify(empty, undefined, 2)}\n`, terminal.descriptors, environment);
      const values = JSON.parse(text) as Content;
      // A field whose value is still null is not sent.
      this.content = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Content;
      return `  Your answer: ${visibleLine(JSON.stringify(this.content))}\n`;
    } catch (error) {
      return `  Your answer has not changed: ${visibleLine((error as Error).message)}\n`;
    }
  }
}

interface Field {
  readonly type?: unknown;
  readonly enum?: unknown;
  /** The choices of a field, with titles. */
  readonly oneOf?: unknown;
  readonly anyOf?: unknown;
  /** The choices of a list. */
  readonly items?: unknown;
}

/** The type of a field, or its choices. */
function fieldKind({ type, enum: values, oneOf, anyOf, items }: Field): string {
  if (typeof items === 'object' && items !== null) return `any of: ${fieldChoices(items)}`;
  return values === undefined && oneOf === undefined && anyOf === undefined
    ? String(type)
    : `one of: ${fieldChoices({ enum: values, oneOf, anyOf })}`;
}

function fieldChoices({ enum: values, oneOf, anyOf }: Field): string {
  const titled = [oneOf, anyOf].find((list) => Array.isArray(list)) as { const?: unknown }[] | undefined;
  const found = Array.isArray(values) ? (values as unknown[]) : (titled ?? []).map((choice) => choice.const);
  return found.map((value) => JSON.stringify(value)).join(', ');
}

/** Returns why a value does not fit the schema; undefined if it does. */
function fieldValidator(schema: Readonly<Record<string, unknown>>): (value: unknown) => string | undefined {
  const { type: _type, ...rest } = schema;
  try {
    const inputSchema = { ...rest, type: 'object' as const };
    const form = defineTool({ name: 'form', description: 'A form', inputSchema, execute: () => undefined });
    return (value) => {
      const result = form.validateInput(value);
      return result.ok
        ? undefined
        : result.issues.map(({ path, message }) => `${path.replace(/^args\./u, '')}: ${message}`).join('; ');
    };
  } catch {
    return () => 'the form of the server cannot be checked';
  }
}

/** The next key; undefined if the terminal was closed, or if the server no longer waits for the answer. */
function nextKey(terminal: QuestionTerminal, prompt: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (keys: string | undefined) => {
      stopGuard();
      signal.removeEventListener('abort', withdrawn);
      terminal.stopReading();
      resolve(keys);
    };
    const withdrawn = () => {
      terminal.write('\n  The question was withdrawn.\n');
      end(undefined);
    };
    const stopGuard = readAfterGuard(terminal, {
      prompt: () => terminal.write(prompt),
      take: (keys) => {
        end(keys?.trim() === '' ? ' ' : keys?.trim());
        return false;
      },
    });
    if (signal.aborted) withdrawn();
    else signal.addEventListener('abort', withdrawn, { once: true });
  });
}
