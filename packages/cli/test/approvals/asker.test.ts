import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { DECISION_GUARD_MS } from '@toolscript/core/internal';
import { defineTool } from '@toolscript/core';
import type { ApprovalRequest, Provenance, StreamEvent } from '@toolscript/core/protocol';
import fc from 'fast-check';
import { z } from 'zod';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Asker, type UserAnswer, type AskerOptions } from '#cli/approvals/asker.js';
import { readAfterGuard } from '#cli/approvals/guarded-keys.js';
import { PermissionMode } from '#cli/approvals/permission-mode.js';
import type { QuestionTerminal } from '#cli/approvals/question-terminal.js';
import { WorkspaceRules } from '#cli/approvals/workspace-rules.js';
import { Screen } from '#cli/terminal/screen.js';
import { tries } from '@toolscript/testkit/some-cases';

/** A terminal whose keys wait while nothing reads them. `shown`: called with each text. */
class SimulatedTerminal implements QuestionTerminal {
  readonly descriptors = { input: 0, output: 2 };
  readonly #shown: (text: string) => void;
  #take: ((keys: string | undefined) => boolean) | undefined;
  #waiting = '';

  constructor(shown: (text: string) => void) {
    this.#shown = shown;
  }

  write(text: string): void {
    this.#shown(text);
  }

  read(take: (keys: string | undefined) => boolean): void {
    this.#take = take;
    if (this.#waiting !== '') setTimeout(() => this.type(''), 0);
  }

  stopReading(): void {
    this.#take = undefined;
  }

  close(): void {
    this.stopReading();
  }

  type(keys: string): void {
    const all = this.#waiting + keys;
    this.#waiting = '';
    if (this.#take === undefined) this.#waiting = all;
    else if (all !== '' && !this.#take(all)) this.stopReading();
  }
}

interface Answer {
  readonly id: string;
  readonly at: number;
  readonly answered: UserAnswer;
}

/** A user at a terminal, with the calls that ask. */
class SimulatedUser {
  readonly answers: Answer[] = [];
  /** The keys that the user meant as answers: to the question that was shown, after its text was read. */
  readonly meant: { readonly id: string; readonly at: number; readonly key: string }[] = [];
  readonly #terminal = new SimulatedTerminal((text) => this.#see(text));
  readonly #asker: Asker;
  #count = 0;
  /** The question on the screen, and when its text last changed. */
  #shown: { id: string; readAt: number } | undefined;
  #typedAt = -Infinity;

  constructor() {
    const rules = { suggest: () => undefined, allows: () => false } as unknown as WorkspaceRules;
    const stream = { write: () => true };
    this.#asker = new Asker(this.#terminal, {
      screen: new Screen(stream, stream, {}),
      rules,
      notify: 'off',
      mode: new PermissionMode(),
      validateInput: () => undefined,
      suspendAfterMs: undefined,
      interrupt: () => undefined,
    } satisfies AskerOptions);
  }

  /** `name`: the tool of a call of the script `scr`, with an argument that comes from a web page. */
  arrive(isPlanned: boolean, name?: string): void {
    const id = `call${(this.#count += 1)}`;
    const plan = isPlanned ? [{ tool: id, line: 1, effect: 'write', input: {} }] : [];
    const request = { approvalId: id, tool: id, scriptId: id, rendered: `the call ${id}`, inputJson: '{}', plan };
    const ask = this.#asker.ask({
      ...request,
      input: {},
      effect: 'write',
      planned: isPlanned,
      ...(name !== undefined && { tool: name, scriptId: 'scr', provenance: DOUBTFUL }),
    } as unknown as ApprovalRequest);
    void ask.then((answered) => {
      if (this.#shown?.id === id) this.#shown = undefined;
      this.answers.push({ id, at: Date.now(), answered });
    });
  }

  withdraw(): void {
    if (this.#shown === undefined) return;
    const payload = { type: 'approval_resolved', approval_id: this.#shown.id, decision: 'timeout' };
    this.#shown = undefined;
    this.#asker.take({ payload } as unknown as StreamEvent);
  }

  type(key: string): void {
    const now = Date.now();
    const since = Math.max(this.#shown?.readAt ?? Infinity, this.#typedAt);
    if (this.#shown !== undefined && now - since >= DECISION_GUARD_MS)
      this.meant.push({ id: this.#shown.id, at: now, key });
    // Arrows are no text.
    if (key !== ARROW) this.#typedAt = now;
    this.#terminal.type(key);
  }

  /** Reads new text of a question; its prompt is no new text. */
  #see(text: string): void {
    const id = /call\d+/u.exec(text)?.[0] ?? this.#shown?.id;
    const isPrompt = /\[y\]es, \[N\]o $|were ignored/u.test(text);
    if (id !== undefined && !isPrompt) this.#shown = { id, readAt: Date.now() };
  }
}

const DOUBTFUL = { guarded: ['to'], arguments: {}, literals: {}, status: 'proven', reasons: { to: 'a web page' } };

const ARROW = '\x1b[A';
const LETTERS = ['y', 'n', 'a', 'p', 's', 'l', 'v', '?', 'w', 'q', 'x', 'yes', '\r', '\x1b', ARROW, ' '];

type Step = (user: SimulatedUser) => Promise<void>;

const wait = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));
const key = fc.constantFrom(...LETTERS);

const steps = fc.array(
  fc.oneof(
    fc.boolean().map(
      (isPlanned): Step =>
        async (user) =>
          user.arrive(isPlanned),
    ),
    fc.constant<Step>(async (user) => user.withdraw()),
    fc.oneof(fc.integer({ min: 1, max: 250 }), fc.integer({ min: 500, max: 1_500 })).map(
      (ms): Step =>
        () =>
          wait(ms),
    ),
    fc.array(fc.tuple(key, fc.integer({ min: 1, max: 400 })), { maxLength: 8 }).map((typed): Step => async (user) => {
      for (const [letter, gap] of typed) {
        user.type(letter);
        await wait(gap);
      }
    }),
    key.map((letter): Step => async (user) => {
      await wait(DECISION_GUARD_MS + 50);
      user.type(letter);
      await wait(1);
    }),
  ),
  { minLength: 5, maxLength: 30 },
);

/** True if the user meant an answer: with a key, or with one that begins an answer of several keys. */
function isMeant({ id, at, answered }: Answer, { meant }: SimulatedUser): boolean {
  const decision = typeof answered === 'string' ? answered : answered.decision;
  const keys = meant.filter((one) => one.id === id && one.at <= at);
  const has = (wanted: readonly string[], when = at) => keys.some((one) => wanted.includes(one.key) && one.at === when);
  if (decision === 'suspend') return has(['l']);
  if (decision === 'approve') return has(['y', 'yes', 'a']);
  return has(['\r', '\x1b', ' ']) || keys.some((one) => one.key === 'n');
}

describe('a decision at a terminal', () => {
  describe('with a simulated clock', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it('for all calls of a script, or by a rule, allows no call whose argument untrusted text may have chosen', async () => {
      const user = new SimulatedUser();
      for (const _ of [1, 2]) user.arrive(false, 'send');
      await wait(DECISION_GUARD_MS + 50);
      user.type('a');
      await wait(5_000);
      expect(user.answers.map(({ answered }) => answered)).toEqual([{ decision: 'approve', remember: 'script' }]);
      const rules = new WorkspaceRules([{ tool: 'send', action: 'approve' }], [], undefined);
      rules.know(
        () => [defineTool({ name: 'send', description: 'Sends.', input: z.object({}), execute: () => 1 })],
        () => [],
      );
      const call = { tool: 'send', inputJson: '{}' };
      expect(rules.allows(call)).toBe(true);
      expect(rules.allows({ ...call, provenance: DOUBTFUL as unknown as Provenance })).toBe(false);
    });

    it('is always one that the user intended, whatever the user types and the program asks', async () => {
      let decisions = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          const user = new SimulatedUser();
          for (const step of sequence) await step(user);
          decisions += user.answers.length;
          expect(user.answers.filter((answer) => !isMeant(answer, user))).toEqual([]);
          vi.clearAllTimers();
        }),
        { numRuns: tries(10_000) },
      );
      expect(decisions).toBeGreaterThan(100);
    });
  });

  it('is not made by a key that was typed while the program was busy', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const keyboard = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [input] = (await once(server, 'connection')) as [Socket];
    const taken: (string | undefined)[] = [];
    let prompted: ((hasDropped: boolean) => void) | undefined;
    const isPrompted = new Promise<boolean>((resolve) => (prompted = resolve));
    const terminal = {
      read: (take: (keys: string) => boolean) =>
        void input.removeAllListeners('data').on('data', (data) => take(String(data))),
    } as unknown as QuestionTerminal;
    readAfterGuard(terminal, {
      prompt: prompted!,
      take: (keys) => {
        taken.push(keys);
        return true;
      },
    });
    keyboard.write('y');
    const end = performance.now() + DECISION_GUARD_MS + 100;
    while (performance.now() < end);
    expect(await isPrompted).toBe(true);
    expect(taken).toEqual([]);
    keyboard.write('n');
    await once(input, 'data');
    expect(taken).toEqual(['n']);
    keyboard.destroy();
    server.close();
  });
});
