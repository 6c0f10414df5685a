import type { ParsedScenario, ScenarioAnswer, ScenarioPart } from './scenario.js';
import type { SeenRequest } from './seen-request.js';
import { SCRIPT_TOOL } from '../../text/script-tool.js';

/** A scenario turn prepared for one request: ids assigned, carriers chosen, texts joined. */
export interface PlannedAnswer {
  readonly id: string;
  readonly model: string;
  readonly parts: readonly PlannedPart[];
  readonly stop: ScenarioAnswer['stop'];
  /** The stop sequence that ended the answer. */
  readonly stopSequence: string | undefined;
  readonly usage: NonNullable<ScenarioAnswer['usage']>;
  /** Whether reasoning is sent in a form that can be sent back. */
  readonly sealsReasoning: boolean;
  readonly deltaLength: number;
  /** Whether the answer continues after a cut. */
  readonly isBackground: boolean;
}

/** Text to send, or a pause in ms. */
export type TextChunk = string | number;

export type PlannedPart =
  | { readonly type: 'reasoning'; readonly id: string; readonly text: string; readonly seal: string }
  | { readonly type: 'text'; readonly id: string; readonly chunks: readonly TextChunk[] }
  | { readonly type: 'refusal'; readonly id: string; readonly text: string }
  | PlannedCall
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'cut' }
  | { readonly type: 'error'; readonly code: string; readonly message: string };

interface PlannedCall {
  readonly type: 'call';
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly custom: boolean;
}

/** The opening tag of a script in text, as the system text names it. */
const OPEN_TAG = /<tool-calls(?: id=[\\]*"[\w-]+[\\]*")?>/u;
const CLOSE_TAG = '\n</tool-calls>';

/** `number` is the number of the scenario's turn. It makes the ids unique. */
export function planAnswer(
  turn: ScenarioAnswer,
  request: SeenRequest,
  number: number,
  { delta_length: deltaLength }: ParsedScenario,
): PlannedAnswer {
  const planner = new Planner(request, number);
  for (const part of turn.parts) if (!planner.isStopped) planner.add(part);
  const { parts, stopSequence } = planner;
  return {
    id: `answer_${number}`,
    model: request.model,
    parts,
    stop: turn.stop,
    stopSequence,
    usage: turn.usage ?? {
      input_tokens: approximateTokens(request.text),
      output_tokens: approximateTokens(JSON.stringify(parts)),
    },
    sealsReasoning: request.sealsReasoning,
    deltaLength,
    isBackground: request.isBackground === true,
  };
}

export function textOfChunks(chunks: readonly TextChunk[]): string {
  return chunks.filter((chunk) => typeof chunk === 'string').join('');
}

/** Splits text into pieces of `length` characters, never inside a character. */
export function inDeltas(text: string, length: number): string[] {
  return text.match(new RegExp(`[^]{1,${length}}`, 'gu')) ?? [];
}

function approximateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

class Planner {
  readonly parts: PlannedPart[] = [];
  stopSequence: string | undefined;
  readonly #request: SeenRequest;
  readonly #number: number;
  #calls = 0;

  constructor(request: SeenRequest, number: number) {
    this.#request = request;
    this.#number = number;
  }

  /** True after a stop sequence, an error or a broken connection: no more text is sent. */
  get isStopped(): boolean {
    const last = this.parts.at(-1)?.type;
    const isCut = last === 'cut' && this.#request.isBackground !== true;
    return this.stopSequence !== undefined || isCut || last === 'error';
  }

  add(part: ScenarioPart): void {
    switch (part.type) {
      case 'text':
        return this.#say(part.text);
      case 'script':
        return this.#addScript(part);
      case 'wait':
        return this.#wait(part.ms);
      case 'call':
        return this.#call(part.name, argumentsText(part.arguments), false, part.call_id);
      case 'reasoning': {
        const id = this.#name('rs');
        const seal = Buffer.from(`sealed ${id}: ${part.text}`).toString('base64');
        return void this.parts.push({ type: 'reasoning', id, text: part.text, seal });
      }
      case 'refusal':
        return void this.parts.push({ type: 'refusal', id: this.#name('msg'), text: part.text });
      default:
        this.parts.push(part);
    }
  }

  #addScript({ code, carrier }: Extract<ScenarioPart, { type: 'script' }>): void {
    const offered = this.#request.tools.get(SCRIPT_TOOL);
    switch (carrier ?? (offered === undefined ? 'text' : offered === 'custom' ? 'custom' : 'tool')) {
      case 'text':
        return this.#say(`${this.#openTag()}\n${code}${CLOSE_TAG}`);
      case 'custom':
        return this.#call(SCRIPT_TOOL, code, true, undefined);
      case 'tool':
        return this.#call(SCRIPT_TOOL, JSON.stringify({ code }), false, undefined);
    }
  }

  #openTag(): string {
    return OPEN_TAG.exec(this.#request.frozen)?.[0].replaceAll('\\', '') ?? '<tool-calls>';
  }

  #call(name: string, text: string, custom: boolean, callId: string | undefined): void {
    const id = this.#name(custom ? 'ctc' : 'fc');
    const named = callId ?? this.#newCallId();
    this.parts.push({ type: 'call', id, callId: named, name, arguments: text, custom });
  }

  /** A new id that no call of the conversation has, because another scripted model may have begun the conversation. */
  #newCallId(): string {
    for (;;) {
      const id = `call_${this.#number}_${this.#calls++}`;
      if (!this.#request.messages.some(({ spoken }) => spoken.some((said) => said.type === 'call' && said.id === id)))
        return id;
    }
  }

  /** Adds text, joined with a text part directly before it. Text from a stop sequence on is dropped. */
  #say(text: string): void {
    const last = this.parts.at(-1);
    const before = last?.type === 'text' ? last.chunks : [];
    const said = textOfChunks(before) + text;
    const stop = firstSequence(said, this.#request.stopSequences);
    this.stopSequence = stop?.sequence;
    const kept = stop === undefined ? text : text.slice(0, Math.max(0, stop.at - (said.length - text.length)));
    const chunks = [...before, ...(kept === '' ? [] : [kept])];
    if (last?.type === 'text') this.parts.pop();
    if (chunks.length > 0)
      this.parts.push({ type: 'text', id: last?.type === 'text' ? last.id : this.#name('msg'), chunks });
  }

  #wait(ms: number): void {
    const last = this.parts.at(-1);
    if (last?.type !== 'text') return void this.parts.push({ type: 'wait', ms });
    this.parts[this.parts.length - 1] = { ...last, chunks: [...last.chunks, ms] };
  }

  #name(prefix: string): string {
    return `${prefix}_${this.#number}_${this.parts.length}`;
  }
}

/** Arguments for formats that only have JSON arguments: the text of a custom tool is its code. */
export function plannedCallJson({ arguments: text, custom }: Extract<PlannedPart, { type: 'call' }>): string {
  return custom ? JSON.stringify({ code: text }) : text;
}

function argumentsText(value: Record<string, unknown> | string): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function firstSequence(text: string, sequences: readonly string[]): { at: number; sequence: string } | undefined {
  return sequences
    .map((sequence) => ({ at: text.indexOf(sequence), sequence }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0];
}
