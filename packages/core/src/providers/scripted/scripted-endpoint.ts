import { PROVIDER_APIS, type ProviderApi } from '../answer-writer.js';
import type { Frame } from './frames.js';
import { RequestJudge } from './judge.js';
import { checkModel } from './model-rules.js';
import { planAnswer, type PlannedAnswer } from './planned-answer.js';
import { readChat } from './read-chat.js';
import { readMessages } from './read-messages.js';
import { readResponses } from './read-responses.js';
import { parseScenario, type ParsedScenario, type ScenarioAnswer } from './scenario.js';
import { wireMembers } from '../wire-values.js';
import { Violation, type SeenRequest, type SpokenPart } from './seen-request.js';
import { chatEcho, writeChat } from './write-chat.js';
import { messagesEcho, writeMessages } from './write-messages.js';
import { responsesEcho, writeResponses } from './write-responses.js';

/** The provider's side of one wire format. */
interface ProviderSide {
  readonly path: string;
  read(body: unknown): SeenRequest;
  write(answer: PlannedAnswer): Frame[];
  echo(answer: PlannedAnswer): SpokenPart[];
  error(code: string, message: string): object;
}

const openAiError = (code: string, message: string): object => ({
  error: { message, type: code, param: null, code },
});

const SIDES: Readonly<Record<ProviderApi, ProviderSide>> = {
  'openai-responses': {
    path: '/v1/responses',
    read: readResponses,
    write: writeResponses,
    echo: responsesEcho,
    error: openAiError,
  },
  'openai-chat': {
    path: '/v1/chat/completions',
    read: readChat,
    write: writeChat,
    echo: chatEcho,
    error: openAiError,
  },
  'anthropic-messages': {
    path: '/v1/messages',
    read: readMessages,
    write: writeMessages,
    echo: messagesEcho,
    error: (code, message) => ({ type: 'error', error: { type: code, message } }),
  },
};

const PATHS = Object.values(SIDES)
  .map(({ path }) => path)
  .join(', ');

function apiAt(path: string): ProviderApi | undefined {
  return PROVIDER_APIS.find((candidate) => path === SIDES[candidate].path);
}

export interface EndpointRequest {
  /** Default: POST. */
  readonly method?: string | undefined;
  readonly path: string;
  readonly query?: string | undefined;
  /** The headers, with their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export type EndpointReply =
  | {
      readonly type: 'stream';
      readonly frames: readonly Frame[];
      readonly requestId: string;
      /** Must be called when the last frame is delivered. */
      readonly heard: () => void;
    }
  | {
      readonly type: 'json';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly requestId: string;
      readonly body: object;
    }
  /** The connection ends without a response. */
  | { readonly type: 'drop' };

/**
 * Plays a scenario as a provider of all three wire formats, without HTTP. One endpoint is one thread: each valid
 * request consumes the next turn. An invalid request gets an error status and consumes no turn.
 */
export class ScriptedEndpoint {
  /** One message for each request that violates the format or the rules of conversation. */
  readonly violations: string[] = [];
  /** The request bodies, parsed as JSON. */
  readonly requests: unknown[] = [];
  readonly #scenario: ParsedScenario;
  readonly #judge = new RequestJudge();
  /** The background answers, by id. */
  readonly #background = new Map<string, Extract<EndpointReply, { type: 'stream' }>>();
  #turns = 0;
  #replies = 0;

  /** @throws ToolscriptUsageError for an invalid scenario. */
  constructor(scenario: unknown) {
    this.#scenario = parseScenario(scenario);
  }

  /** Turns of the scenario that no request has consumed. */
  get turnsLeft(): number {
    return this.#scenario.turns.length - this.#turns;
  }

  reply(request: EndpointRequest): EndpointReply {
    this.#replies += 1;
    const background = this.#background.get(request.path);
    if (request.method === 'GET' && background !== undefined) return remainingFrames(background, request.query);
    const api = apiAt(request.path);
    if (api === undefined)
      return this.#error(
        'openai-chat',
        404,
        'not_found',
        `There is no endpoint at ${request.path}. The endpoints are ${PATHS}.`,
      );
    if (!this.#mayEnter(request))
      return this.#error(api, 401, 'invalid_api_key', 'The API key is wrong. Send the api_key of the scenario.');
    try {
      return this.#take(api, this.#read(api, request.body));
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.violations.push(error.message);
      return this.#error(api, 400, 'invalid_request_error', error.message);
    }
  }

  /** The reply to a request whose body is larger than the maximum. */
  refuseBody({ path }: Pick<EndpointRequest, 'path'>, maxBytes: number): EndpointReply {
    this.#replies += 1;
    const message = `The request body is larger than ${maxBytes} bytes. Send less.`;
    this.violations.push(message);
    return this.#error(apiAt(path) ?? 'openai-chat', 413, 'request_too_large', message);
  }

  #mayEnter({ headers }: EndpointRequest): boolean {
    const { api_key: key } = this.#scenario;
    return key === undefined || headers.authorization === `Bearer ${key}` || headers['x-api-key'] === key;
  }

  #read(api: ProviderApi, text: string): SeenRequest {
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      throw new Violation('The request body is not JSON. Send a JSON object.');
    }
    this.requests.push(body);
    const request = SIDES[api].read(body);
    checkModel(api, wireMembers(body));
    return request;
  }

  #take(api: ProviderApi, request: SeenRequest): EndpointReply {
    const turn = this.#scenario.turns[this.#turns];
    if (turn?.type === 'answer' && turn.begins_anew) this.#judge.beginAnew();
    const judge = turn?.type === 'answer' && turn.aside ? new RequestJudge() : this.#judge;
    const fresh = judge.judge(request, turn?.type === 'answer' && turn.changes_prefix);
    if (turn === undefined)
      throw new Violation(`All ${this.#turns} turns of the scenario are used up. Add a turn for this request.`);
    if (turn.type === 'answer') {
      const said = fresh.map(({ json }) => json).join('\n');
      const missing = turn.expect?.find((text) => !said.includes(JSON.stringify(text).slice(1, -1)));
      if (missing !== undefined)
        throw new Violation(`The new messages do not contain ${JSON.stringify(missing)}, which the scenario expects.`);
    }
    this.#turns += 1;
    switch (turn.type) {
      case 'drop':
        return { type: 'drop' };
      case 'failure':
        return this.#error(api, turn.status, turn.code, turn.message, turn.headers);
      case 'answer':
        return this.#answer(api, request, { turn, judge });
    }
  }

  #answer(
    api: ProviderApi,
    request: SeenRequest,
    { turn, judge }: { turn: ScenarioAnswer; judge: RequestJudge },
  ): EndpointReply {
    const side = SIDES[api];
    const answer = planAnswer(turn, request, this.#turns, this.#scenario);
    const heard = judge.answering(request, answer, side.echo(answer));
    const reply = { type: 'stream', frames: side.write(answer), requestId: this.#requestId(), heard } as const;
    if (answer.isBackground) this.#background.set(`${side.path}/resp_${answer.id}`, reply);
    return reply;
  }

  #error(
    api: ProviderApi,
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): EndpointReply {
    return { type: 'json', status, headers, requestId: this.#requestId(), body: SIDES[api].error(code, message) };
  }

  #requestId(): string {
    return `req_scripted_${this.#replies}`;
  }
}

/** The frames after the event that `starting_after` of the query names. */
function remainingFrames(reply: Extract<EndpointReply, { type: 'stream' }>, query = ''): EndpointReply {
  const after = Number(new URLSearchParams(query).get('starting_after') ?? -1);
  const next = reply.frames.findIndex(
    (frame) => frame.type === 'event' && Number(wireMembers(frame.data).sequence_number) > after,
  );
  return { ...reply, frames: next === -1 ? [] : reply.frames.slice(next) };
}
