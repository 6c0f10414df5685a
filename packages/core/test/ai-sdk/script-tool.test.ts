import {
  generateText,
  jsonSchema,
  simulateReadableStream,
  stepCountIs,
  streamText,
  tool,
  type ModelMessage,
  type ToolSet,
} from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { type as arktype } from 'arktype';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createScriptCaller, createScriptTool, type ScriptToolOptions } from '@toolscript/core/ai-sdk';

type Generated = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;

const usage: Generated['usage'] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const script = (code: string, id = 'call_1') =>
  ({ type: 'tool-call', toolCallId: id, toolName: 'run_script', input: JSON.stringify({ code }) }) as const;
const callsTool = (code: string, id?: string): Generated => ({
  content: [script(code, id)],
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage,
  warnings: [],
});
const says = (text: string): Generated => ({
  content: [{ type: 'text', text }],
  finishReason: { unified: 'stop', raw: undefined },
  usage,
  warnings: [],
});

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const { close } of open.splice(0)) await close();
});

async function scriptTool(tools: ToolSet, options?: ScriptToolOptions) {
  const made = await createScriptTool(tools, options);
  open.push(made);
  return made.tool;
}

/** The conversation after one script, up to the model's text or an approval request. */
async function converse(tools: ToolSet, code: string, options?: ScriptToolOptions) {
  const run_script = await scriptTool(tools, options);
  const messages: ModelMessage[] = [{ role: 'user', content: 'go' }];
  const model = new MockLanguageModelV3({ doGenerate: [callsTool(code), says('done')] });
  const ask = () => generateText({ model, tools: { run_script }, messages, stopWhen: stepCountIs(3) });
  const result = await ask();
  messages.push(...result.response.messages);
  const requests = result.content.filter((part) => part.type === 'tool-approval-request');
  return {
    result,
    requests,
    model,
    async answer(approved: boolean) {
      const content = requests.map(
        ({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved }) as const,
      );
      messages.push({ role: 'tool', content });
      return ask();
    },
  };
}

/** The report that the model reads about its script. */
const reportOf = (model: MockLanguageModelV3) => JSON.stringify(model.doGenerateCalls.at(-1)?.prompt.at(-1));

describe('the tools of an AI SDK program, as one that takes scripts', () => {
  const weather = tool({
    description: 'Current weather',
    inputSchema: z.object({
      city: z.string().transform((city) => city.toUpperCase()),
      unit: z.enum(['C', 'F']).default('C'),
    }),
    execute: async ({ city, unit }) => `${city} ${unit}`,
  });

  it('are called from a script in generateText, and the model reads its value', async () => {
    const { result, model } = await converse(
      { weather },
      `
      return (await Promise.all(['Oslo', 'Rome'].map((city) => tools.weather({ city })))).join(', ');
    `,
    );
    expect(result.text).toBe('done');
    expect(model.doGenerateCalls[0]?.tools?.map(({ name }) => name)).toEqual(['run_script']);
    expect(JSON.stringify(model.doGenerateCalls[0]?.tools)).toContain('weather');
    expect(reportOf(model)).toContain('OSLO C, ROME C');
  });

  it('are called from a script in streamText', async () => {
    const run_script = await scriptTool({ weather });
    const finish = (unified: 'stop' | 'tool-calls') =>
      ({ type: 'finish', finishReason: { unified, raw: undefined }, usage }) as const;
    const streams = [
      [script(`return tools.weather({ city: 'Oslo' })`), finish('tool-calls')],
      [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'done' },
        { type: 'text-end', id: 't' },
        finish('stop'),
      ],
    ] as const;
    const model = new MockLanguageModelV3({
      doStream: streams.map((chunks) => ({ stream: simulateReadableStream({ chunks: [...chunks] }) })),
    });
    const result = streamText({ model, tools: { run_script }, prompt: 'go', stopWhen: stepCountIs(3) });
    expect(await result.text).toBe('done');
    expect((await result.steps)[0]?.toolResults[0]?.output).toContain('OSLO C');
  });

  it('receive the options of the call of the script tool', async () => {
    const seen: unknown[] = [];
    const run_script = await scriptTool({
      look: tool({
        description: 'Looks',
        inputSchema: z.object({}),
        execute: (_input, options) => {
          seen.push(options);
          return 'seen';
        },
      }),
    });
    const model = new MockLanguageModelV3({ doGenerate: [callsTool('return tools.look({})', 'call_7'), says('done')] });
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }];
    await generateText({
      model,
      tools: { run_script },
      messages,
      stopWhen: stepCountIs(3),
      experimental_context: { user: 'ada' },
    });
    expect(seen).toEqual([
      { toolCallId: 'call_7', messages, experimental_context: { user: 'ada' }, abortSignal: expect.any(AbortSignal) },
    ]);
  });

  it('are aborted with the request', async () => {
    const abort = new AbortController();
    let signal: AbortSignal | undefined;
    const run_script = await scriptTool({
      wait: tool({
        description: 'Waits',
        inputSchema: z.object({}),
        execute: (_input, { abortSignal }) => {
          signal = abortSignal;
          abort.abort();
          return new Promise<string>((_resolve, reject) => {
            abortSignal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
          });
        },
      }),
    });
    const report = await run_script.execute(
      { code: 'return tools.wait({})' },
      { toolCallId: 'call_1', messages: [], abortSignal: abort.signal },
    );
    expect(signal?.aborted).toBe(true);
    expect(report).toMatch(/cancelled|aborted/iu);
  });

  it('may have schemas of any kind, and yield several results', async () => {
    const { model } = await converse(
      {
        json: tool({
          inputSchema: jsonSchema<{ n: number }>({
            type: 'object',
            properties: { n: { type: 'number' } },
            required: ['n'],
          }),
          execute: ({ n }) => n + 1,
        }),
        standard: tool({ inputSchema: arktype({ n: 'number' }), execute: ({ n }) => n + 2 }),
        many: tool({
          inputSchema: z.object({}),
          async *execute() {
            yield 'first';
            yield 'last';
          },
        }),
      },
      'return [await tools.json({ n: 1 }), await tools.standard({ n: 1 }), await tools.many({})]',
    );
    expect(reportOf(model)).toContain(String.raw`[2,3,\"last\"]`);
  });

  it('need an execute', async () => {
    const tools = { ask: tool({ description: 'Asks the user', inputSchema: z.object({}) }) };
    await expect(createScriptTool(tools as never)).rejects.toThrow('"ask" has no execute');
  });
});

describe('needsApproval', () => {
  const paid: number[] = [];
  afterEach(() => void paid.splice(0));
  const payTool = (needsApproval: boolean | ((input: { euros: number }) => boolean)) => ({
    'pay-out': tool({
      description: 'Pays',
      inputSchema: z.object({ euros: z.number() }),
      needsApproval,
      execute: ({ euros }) => {
        paid.push(euros);
        return 'paid';
      },
    }),
    look: tool({ inputSchema: z.object({}), execute: () => 40 }),
  });

  it('of a tool that a script names is asked for before the script runs, and an approval lets it run', async () => {
    const { requests, result, answer } = await converse(payTool(true), 'return tools.pay_out({ euros: 5 })');
    expect(requests).toMatchObject([
      { toolCall: { toolCallId: 'call_1', input: { code: 'return tools.pay_out({ euros: 5 })' } } },
    ]);
    expect(result.text).toBe('');
    expect(paid).toEqual([]);
    expect((await answer(true)).text).toBe('done');
    expect(paid).toEqual([5]);
  });

  it('shows the host the events of the run alone, and none of the check before it', async () => {
    const events: string[] = [];
    const onEvent: ScriptToolOptions['onEvent'] = ({ payload }) => void events.push(payload.type);
    const { answer } = await converse(payTool(true), 'return tools.pay_out({ euros: 5 })', { onEvent });
    expect(events).toEqual([]);
    await answer(true);
    expect(events.filter((type) => type === 'tool_call_start')).toHaveLength(1);
  });

  it('is not asked for where scripts do not run', async () => {
    const { requests } = await converse(payTool(true), 'return tools.pay_out({ euros: 5 })', { mode: 'disabled' });
    expect(requests).toEqual([]);
    expect(paid).toEqual([]);
  });

  it('of a tool that a script names is asked for, and a denial lets nothing run', async () => {
    const { answer } = await converse(payTool(true), 'return tools.pay_out({ euros: 5 })');
    expect((await answer(false)).text).toBe('done');
    expect(paid).toEqual([]);
  });

  it('is not asked for by scripts without such a call, or that do not compile', async () => {
    for (const code of ['return tools.look({})', 'return tools.pay_out({ euros: 5 }']) {
      const { requests, result } = await converse(payTool(true), code);
      expect(requests, code).toEqual([]);
      expect(result.text, code).toBe('done');
    }
  });

  it('as a function sees arguments that are written out, and counts as true for other ones', async () => {
    const above = payTool(({ euros }) => euros > 10);
    expect((await converse(above, 'return tools.pay_out({ euros: 5 })')).requests).toHaveLength(0);
    expect(paid).toEqual([5]);
    expect((await converse(above, 'return tools.pay_out({ euros: 50 })')).requests).toHaveLength(1);
    const computed = 'return tools.pay_out({ euros: await tools.look({}) as number })';
    const { requests, answer } = await converse(above, computed);
    expect(requests).toHaveLength(1);
    await answer(true);
    expect(paid).toEqual([5, 40]);
  });

  it('holds for calls that a script does not name', async () => {
    const code = `const name = ['pay', 'out'].join('-'); return await (tools as any)[name]({ euros: 5 });`;
    const { requests, model } = await converse(payTool(true), code);
    expect(requests).toEqual([]);
    expect(paid).toEqual([]);
    expect(reportOf(model)).toContain('no user has approved it');
  });

  it('is not asked for through the AI SDK if the host decides itself', async () => {
    const asked: string[] = [];
    const approvals = ({ tool: name }: { tool: string }) => {
      asked.push(name);
      return 'approve' as const;
    };
    const { requests } = await converse(payTool(true), 'return tools.pay_out({ euros: 5 })', { approvals });
    expect(requests).toEqual([]);
    expect(asked).toEqual(['pay-out']);
    expect(paid).toEqual([5]);
  });
});

describe('toolApproval', () => {
  const paid: number[] = [];
  afterEach(() => void paid.splice(0));
  const pay = tool({
    inputSchema: z.object({ euros: z.number() }),
    needsApproval: true,
    execute: ({ euros }) => {
      paid.push(euros);
      return 'paid';
    },
  });
  const code = 'return tools.pay({ euros: 5 })';

  it('asks for a call of a script as for a call of the model, and an approval lets it run', async () => {
    const free = { ...pay, needsApproval: false };
    const { requests, answer } = await converse({ pay: free }, code, { toolApproval: { pay: 'user-approval' } });
    expect(requests).toHaveLength(1);
    expect(paid).toEqual([]);
    await answer(true);
    expect(paid).toEqual([5]);
  });

  it('wins over needsApproval of the tool', async () => {
    const { requests } = await converse({ pay }, code, { toolApproval: { pay: 'approved' } });
    expect(requests).toEqual([]);
    expect(paid).toEqual([5]);
  });

  it('leaves the decision to needsApproval where it has no entry', async () => {
    const toolApproval = { constructor: 'approved' as const };
    expect((await converse({ pay }, code, { toolApproval })).requests).toHaveLength(1);
  });

  it('denies a call with its reason, and asks nobody', async () => {
    const toolApproval = { pay: { type: 'denied' as const, reason: 'not on Sundays' } };
    const { requests, model } = await converse({ pay }, code, { toolApproval });
    expect(requests).toEqual([]);
    expect(reportOf(model)).toContain('not on Sundays');
    expect(paid).toEqual([]);
  });

  it('denies a call in a script that a user has approved for another call', async () => {
    const toolApproval = { pay: 'user-approval' as const, drop: 'denied' as const };
    const drop = tool({ inputSchema: z.object({}), execute: () => void paid.push(-1) });
    const both = 'await tools.pay({ euros: 5 }); await tools.drop({})';
    const { requests, answer } = await converse({ pay, drop }, both, { toolApproval });
    expect(requests).toHaveLength(1);
    await answer(true);
    expect(paid).toEqual([5]);
  });

  it('as a function reads the arguments of the call, and the id of the script', async () => {
    const seen: unknown[] = [];
    const toolApproval = {
      pay: (input: { euros: number }, { toolCallId }: { toolCallId: string }) => {
        seen.push([input, toolCallId]);
        return input.euros > 10 ? ('user-approval' as const) : undefined;
      },
    };
    expect((await converse({ pay }, code, { toolApproval })).requests).toEqual([]);
    expect(seen[0]).toEqual([{ euros: 5 }, 'call_1']);
    expect((await converse({ pay }, 'return tools.pay({ euros: 50 })', { toolApproval })).requests).toHaveLength(1);
  });

  it('as one function for all tools reads the whole call', async () => {
    const toolApproval = ({ toolCall }: { toolCall: { toolName: string; input: unknown } }) =>
      toolCall.toolName === 'pay' ? ({ type: 'user-approval' } as const) : undefined;
    expect((await converse({ pay }, code, { toolApproval })).requests).toHaveLength(1);
  });

  it('cannot be combined with "approvals"', async () => {
    await expect(createScriptTool({ pay }, { toolApproval: {}, approvals: 'auto' })).rejects.toMatchObject({
      code: 'SDK_TWO_APPROVALS',
    });
  });
});

describe('a script tool for experimental_toolCallers', () => {
  const twice = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => 2 * n });
  const thrice = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => 3 * n });
  const call = { toolCallId: 'call_1', messages: [] };

  it('calls the tools to which it is bound, and unbound those with which it was created', async () => {
    const made = createScriptCaller({ twice });
    open.push(made);
    const { bind } = made.tool.experimental_toolCaller;
    const bound = bind({ twice, thrice });
    expect(bound.description).toContain('thrice');
    expect(made.tool.description).not.toContain('thrice');
    expect(await bound.execute({ code: 'return tools.thrice({ n: 2 })' }, call)).toContain('6');
    expect(await made.tool.execute({ code: 'return tools.twice({ n: 2 })' }, call)).toContain('4');
    expect(await made.tool.execute({ code: 'return tools.thrice({ n: 2 })' }, call)).toContain('ts2339');
    expect(bind({ thrice, twice })).toBe(bound);
  });

  it('still runs a script of a step whose tools were bound long ago', async () => {
    const made = createScriptCaller({});
    open.push(made);
    const { bind } = made.tool.experimental_toolCaller;
    const first = bind({ twice });
    for (let step = 0; step < 10; step += 1) bind({ twice: { ...twice } });
    expect(await first.execute({ code: 'return tools.twice({ n: 4 })' }, call)).toContain('8');
  });

  it('refuses a tool whose JSON Schema is a promise', () => {
    const late = tool({ inputSchema: jsonSchema(Promise.resolve({ type: 'object' })), execute: () => 1 });
    expect(() => createScriptCaller({ late })).toThrow('"late" has a JSON Schema that is a promise');
  });
});
