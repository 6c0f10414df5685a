import { z } from 'zod';
import { defineTool, ToolCallError, type ApprovalRequest, type Decision, type Tool } from '@toolscript/core';
import type { FuzzCase } from './fuzz-case.js';
import { check } from './oracle.js';

/** The host's work for one script, as its tools and the user observed it. */
export class HostRecord {
  /** JSON text of the arguments of each call's tool. */
  readonly executed = new Map<string, string>();
  /** JSON text of the calls that the user was shown, and of the approved calls. */
  readonly asked = new Map<string, string>();
  readonly approved = new Map<string, string>();
  readonly violations: string[] = [];
  readonly #settling: FuzzCase['settling'];
  #waiting: (() => void)[] = [];

  constructor(settling: FuzzCase['settling']) {
    this.#settling = settling;
  }

  /** Starts a tool. Resolves when it is the tool's turn to answer. */
  async execute(callId: string, input: unknown): Promise<void> {
    if (this.executed.has(callId)) this.violations.push(`the call ${callId} was executed twice`);
    this.executed.set(callId, JSON.stringify(input));
    await new Promise<void>((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#answer());
    });
  }

  /** Approves, approves with other arguments, or denies, depending only on the arguments. */
  decide({ callId, input, inputJson, tool }: ApprovalRequest): Decision {
    if (JSON.stringify(input) !== inputJson) this.violations.push(`the person is shown another text than ${inputJson}`);
    this.asked.set(callId, inputJson);
    const choice = tool === 'danger' ? 2 : inputJson.length % 4;
    if (choice === 2) return 'deny';
    const edited: unknown = { ...(input as object), edited: true };
    this.approved.set(callId, choice === 1 ? JSON.stringify(edited) : inputJson);
    if (choice === 1) return { decision: 'approve', input: edited };
    return choice === 3 ? { decision: 'approve', remember: 'script' } : 'approve';
  }

  #answer(): void {
    const { order, atOnce } = this.#settling;
    const chosen = order === 'first' ? this.#waiting.splice(0, atOnce) : this.#waiting.splice(-atOnce);
    for (const answer of chosen) answer();
    if (this.#waiting.length > 0) setImmediate(() => this.#answer());
  }
}

const anyObject = z.looseObject({});

async function reply(input: Record<string, unknown>, { callId, app }: { callId: string; app?: unknown }) {
  if (app instanceof HostRecord) await app.execute(callId, input);
  const { n } = input;
  if (typeof n !== 'number') return input;
  if (n % 5 === 4) throw new ToolCallError('ToolExecutionError', `failed ${n}`, { n, list: [{}] });
  return { n, reply: check(n + 7) };
}

const common = { description: 'Of the fuzzer', input: anyObject, execute: reply };

/** `hold`: answers the calls of the tool `hold`, which belong to no case. */
export function fuzzTools(hold: () => Promise<unknown>): readonly Tool[] {
  return [
    ...['echo', 'fail', 'never', 'readFile'].map((name) =>
      defineTool({ ...common, name, approval: 'never', effect: 'read' }),
    ),
    ...['space.inner', 'danger'].map((name) => defineTool({ ...common, name, approval: 'always', effect: 'external' })),
    defineTool({ ...common, name: 'hold', approval: 'never', effect: 'read', execute: hold }),
  ];
}
