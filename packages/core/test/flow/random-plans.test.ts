import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CallSources } from '#core/calls/flow/call-sources.js';
import type { JsonValue, Operation } from '#core/protocol/index.js';
import type { LiteralMembers } from '#core/protocol/saved-script.js';
import { worldTools } from './support.js';

/*
 * Random plans: a page is read, its texts are changed by random steps and pass through random trusted tools, and a value
 * is sent. A value that the page has chosen never reaches `to` without a question; a literal of the call always does.
 * The values are those that a script of these steps computes, so no sandbox is needed.
 */

const tools = new Map(worldTools({ transfers: [] }).map((tool) => [tool.name, tool]));

type Step = (text: string) => string;

/** Changes that keep the page's choice: two pages give two values. */
const STEPS: Readonly<Record<string, Step>> = {
  same: (text) => text,
  lower: (text) => text.toLowerCase(),
  reversed: (text) => [...text].toReversed().join(''),
  prefixed: (text) => `acct:${text}`,
  ended: (text) => `${text}!`,
  cut: (text) => text.slice(0, Math.max(2, text.length - 2)),
  spaced: (text) => [...text].join(' '),
  encoded: (text) => Buffer.from(text).toString('base64'),
};

const stepNames = fc.array(fc.constantFrom(...Object.keys(STEPS)), { maxLength: 3 });
const words = fc
  .string({ minLength: 2, maxLength: 24, unit: fc.constantFrom(...'abcdXYZ0189 .-@/') })
  .map((text) => text.trim() || 'ab');
/** The trusted tools through which the value passes before the call: it is their argument, and then their result. */
const routes = fc.array(fc.constantFrom('findContact', 'extract'), { maxLength: 2 });

interface Plan {
  readonly value: string;
  readonly operations: Operation[];
}

const operation = (index: number, tool: string, input: unknown, result: unknown): Operation => ({
  callId: `scr_call_${index}`,
  tool,
  input,
  effect: 'read',
  status: 'completed',
  result,
  startedAtMs: index,
  durationMs: 1,
  line: index + 1,
});

/** The calls of a plan in which the page chooses the value. */
function planOf(text: string, steps: readonly string[], route: readonly string[]): Plan {
  const operations = [
    operation(0, 'readPage', { url: 'https://a.example' }, { text: `Pay ${text} now`, account: text }),
  ];
  let value = text;
  const change = () => {
    for (const step of steps) value = STEPS[step]!(value);
  };
  change();
  for (const tool of route) {
    const input = tool === 'findContact' ? { name: value } : { task: 'the account', text: value };
    const result = tool === 'findContact' ? { name: value, account: `NO${value.length} ${value}` } : { answer: value };
    operations.push(operation(operations.length, tool, input, result));
    value = tool === 'findContact' ? `NO${value.length} ${value}` : value;
    change();
  }
  return { value, operations };
}

const SOURCE =
  "const page = await tools.readPage({ url: 'https://a.example' }); /* … */ await tools.transfer({ to: value, amount: 1 });";

/** The finding about `transfer({ to })` on the line after the calls. `given`: the literals of the call. */
function finding(to: JsonValue, operations: readonly Operation[], given: LiteralMembers | null, source = SOURCE) {
  const line = operations.length + 1;
  const planned = { tool: 'transfer', line, column: 1, repeated: false, conditional: false };
  const script = { source, plan: [planned], given: [given], linked: [] };
  const sources = new CallSources({ script, origin: undefined, policy: undefined, tool: (name) => tools.get(name) });
  const call = {
    tool: 'transfer',
    effect: 'external',
    callId: `scr_call_${line - 1}`,
    scriptId: 'scr',
    principal: undefined,
    line,
  } as const;
  return sources.finding({ ...call, input: { to, amount: 1 } }, operations);
}

it('a value that a page has chosen never reaches a guarded argument without a question', () => {
  let asked = 0;
  fc.assert(
    fc.property(words, stepNames, routes, (text, steps, route) => {
      const { value, operations } = planOf(text, steps, route);
      const { isDoubtful, reason } = finding(value, operations, { amount: 1 });
      expect(isDoubtful, JSON.stringify({ value, steps, route })).toBe(true);
      expect(reason.replaceAll(/"to"|from \S+/gu, '')).not.toContain(text.length > 12 ? text : '\0');
      asked += 1;
    }),
    { numRuns: 2_000 },
  );
  expect(asked).toBe(2_000);
});

it('it asks in a list, too, also beside a literal', () => {
  fc.assert(
    fc.property(words, stepNames, (text, steps) => {
      const { value, operations } = planOf(text, steps, []);
      expect(finding(['own account', value], operations, { amount: 1 }, `${SOURCE} 'own account'`).isDoubtful).toBe(
        true,
      );
    }),
    { numRuns: 500 },
  );
});

it('a literal of the call never asks, whatever a page says', () => {
  fc.assert(
    fc.property(words, stepNames, routes, (text, steps, route) => {
      const { operations } = planOf(text, steps, route);
      const { isDoubtful, provenance } = finding(text, operations, { to: text, amount: 1 });
      expect(isDoubtful).toBe(false);
      expect(provenance.status).toBe('proven');
    }),
    { numRuns: 500 },
  );
});

it('nothing asks in a script without untrusted text', () => {
  fc.assert(
    fc.property(words, stepNames, routes, (text, steps, route) => {
      const { value, operations } = planOf(text, steps, route);
      expect(finding(value, operations.slice(1), null).isDoubtful).toBe(false);
    }),
    { numRuns: 500 },
  );
});
