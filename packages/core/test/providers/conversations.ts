import fc from 'fast-check';
import type { OutputItem } from '#core/protocol/index.js';
import { APIS, output, PIXEL, scriptOutput, user } from './asking.js';

/** Random conversations: rounds of input, an answer of any provider, and the results of its calls and scripts. */

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('', ' \n', 'Grüße, 😀', '</tool-output>', '<tool-calls>\nreturn 1;\n</tool-calls>'),
);

const seal = fc.base64String({ minLength: 4, maxLength: 12 });

type Said = (names: { api: string; answerId: string | undefined; id: string }) => OutputItem[];

export const message: fc.Arbitrary<Said> = text.map((content) => ({ api, answerId, id }) => [
  {
    type: 'message',
    id,
    role: 'assistant',
    content,
    api,
    ...(answerId === undefined ? {} : { answer_id: answerId }),
    ...(api === 'openai-responses' ? { native_id: `msg_${id}`, phase: 'commentary' } : {}),
  },
]);

export const reasoning: fc.Arbitrary<Said> = fc
  .record({ content: text, sealed: seal, redacted: fc.boolean() })
  .map(({ content, sealed, redacted }) => ({ api, answerId, id }) => {
    const named = { type: 'reasoning' as const, id, api, ...(answerId === undefined ? {} : { answer_id: answerId }) };
    switch (api) {
      case 'anthropic-messages':
        if (redacted) return [{ ...named, content: '', native: { type: 'redacted_thinking', data: sealed } }];
        return [{ ...named, content, signature: sealed }];
      case 'openai-responses': {
        const summary = content === '' ? [] : [{ type: 'summary_text', text: content }];
        return [{ ...named, content, native_id: `rs_${id}`, summary, encrypted_content: sealed }];
      }
      default:
        return [{ ...named, content, reasoning_content: content }];
    }
  });

interface Calls {
  said: Said;
  result: (id: string) => OutputItem[];
}

/** Names that a model may call whatever it was offered. Services refuse all but the first in a request. */
export const ODD_NAMES = [
  'getWeather',
  'tools.getWeather',
  'functions.getWeather:0',
  'getWeather<|channel|>commentary',
  'Grüße 😀',
  ' ',
  'x'.repeat(80),
] as const;

/** Results may be missing, and may come twice. */
const results = fc.constantFrom<[number, ...number[]]>([1], [1], [1], [0], [2]);

const call: fc.Arbitrary<Calls> = fc
  .record({
    args: fc.constantFrom('{"city":"Oslo"}', '', '{"b":1,"a":[2]}', 'no JSON', '[1]'),
    odd: fc.constantFrom('', ':0', '.fn', '-ü', 'x'.repeat(80)),
    name: fc.oneof(fc.constantFrom(...ODD_NAMES), fc.string({ minLength: 1, maxLength: 100 })),
    custom: fc.boolean(),
    image: fc.boolean(),
    answer: text,
    times: results,
  })
  .map(({ args, odd, name, custom, image, answer, times: [times] }) => ({
    said: ({ api, answerId, id }) => {
      const raw = custom && api === 'openai-responses';
      return [
        {
          type: 'function_call',
          id,
          call_id: callIdOf(id, odd),
          name: raw ? 'run_script' : name,
          arguments: raw ? `return ${JSON.stringify(args)}` : args,
          api,
          ...(answerId === undefined ? {} : { answer_id: answerId }),
          ...(raw ? { native_type: 'custom_tool_call', native_id: `ctc_${id}` } : {}),
        },
      ];
    },
    result: (id) => {
      const [callId = id] = [oddIds.get(id)];
      const more = image ? { images: [PIXEL] } : {};
      const tell = (index: number): OutputItem =>
        output({ call_id: callId }, index === 0 ? answer : `${answer} ${index}`, { ...more, success: !image });
      return Array.from({ length: times }, (_, index) => tell(index));
    },
  }));

const oddIds = new Map<string, string>();
function callIdOf(id: string, odd: string): string {
  const callId = `call_${id}${odd}`;
  oddIds.set(id, callId);
  return callId;
}

const script: fc.Arbitrary<Calls> = fc
  .record({ before: text, code: text, answer: text, times: results, carrier: fc.constantFrom('text', 'tool') })
  .map(({ before, code, answer, times: [times], carrier }) => ({
    said: ({ answerId, id }) => {
      const named = answerId === undefined ? {} : { answer_id: answerId };
      const item = {
        type: 'script_execution' as const,
        id,
        call_id: `script_${id}`,
        language: 'ts' as const,
        source_code: code,
        source_sha256: '',
        status: 'completed' as const,
        ...named,
      };
      if (carrier === 'tool') return [{ ...item, format: 'tool', carrier: 'tool' }];
      const raw_text = `<tool-calls>\n${code}\n</tool-calls>`;
      return [
        { type: 'message', id: `${id}_before`, role: 'assistant', content: before, ...named },
        { ...item, format: 'xml', carrier: 'text', raw_text },
      ];
    },
    result: (id) =>
      Array.from({ length: times }, (_, index) =>
        scriptOutput(`script_${id}`, `${answer} ${index}`, { images: [PIXEL] }),
      ),
  }));

interface Round {
  api: string;
  named: boolean;
  /** The results follow their calls, inside the answer. */
  interleaved: boolean;
  parts: (Said | Calls)[];
  shuffle: boolean;
}

const round: fc.Arbitrary<Round> = fc.record({
  api: fc.constantFrom(...APIS, 'foreign'),
  named: fc.boolean(),
  interleaved: fc.boolean(),
  parts: fc.array(fc.oneof(message, reasoning, call, script), { maxLength: 5 }),
  shuffle: fc.boolean(),
});

/** The conversation up to each request. */
export function requestsOf(rounds: readonly Round[]): OutputItem[][] {
  const items: OutputItem[] = [];
  const requests: OutputItem[][] = [];
  for (const [number, { api, named, interleaved, parts, shuffle }] of rounds.entries()) {
    items.push(user(`Question ${number}`, number % 2 === 0 ? {} : { images: [PIXEL] }));
    requests.push([...items]);
    const answerId = named ? `ans_${number}` : undefined;
    const later: OutputItem[][] = [];
    for (const [index, part] of parts.entries()) {
      const id = `i${number}_${index}`;
      items.push(...(typeof part === 'function' ? part : part.said)({ api, answerId, id }));
      if (typeof part === 'function') continue;
      // Without a name an answer ends at its first result.
      if (interleaved && named) items.push(...part.result(id));
      else later.push(part.result(id));
    }
    items.push(...(shuffle ? later.toReversed() : later).flat());
    if (number % 3 === 2) items.push({ type: 'message', id: 'sys', role: 'system', content: 'A tool was added.' });
  }
  items.push(user('The end'));
  requests.push([...items]);
  return requests;
}

export const rounds = fc.array(round, { minLength: 1, maxLength: 4 });
