import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHarness, defineTool, memoryStore, type HarnessOptions } from '#core/index.js';
import type { Outcome } from '#core/protocol/index.js';

/** The timeout is long enough for any machine. */
const eventually = <Result>(look: () => Result | Promise<Result>) =>
  vi.waitFor(look, { timeout: 60_000, interval: 10 });

const HOUR_MS = 3_600_000;
/** Much longer than the test, and much shorter than a jump of the clock. */
const PLAUSIBLE_MS = HOUR_MS / 2;
const JUMPS = [
  ['back', -HOUR_MS],
  ['ahead', HOUR_MS],
] as const;
const KEY = 'a secret of more than thirty-two bytes';

let aheadMs = 0;

beforeEach(() => {
  aheadMs = 0;
  const systemTime = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => systemTime() + aheadMs);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** `jump` changes the system's clock, `note` needs an approval, `hold` ends when the test releases it. */
function open(jumpMs: number, options: Partial<HarnessOptions> = {}) {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const jump = () => {
    aheadMs += jumpMs;
  };
  const tool = (name: string, approval: 'always' | 'never', execute: () => unknown) =>
    defineTool({ name, description: name, effect: 'external', approval, execute });
  const harness = createHarness({
    tools: [tool('jump', 'never', jump), tool('note', 'always', () => 'noted'), tool('hold', 'never', () => released)],
    typecheck: 'off',
    suspensionKey: KEY,
    workers: { size: 1 },
    ...options,
  });
  onTestFinished(() => harness.close());
  return { harness, jump, release: () => release() };
}

function valueOf(outcome: Outcome): unknown {
  if (outcome.status !== 'completed') expect.fail(JSON.stringify(outcome).slice(0, 2_000));
  return outcome.value;
}

function expectPlausible(...durationsMs: number[]) {
  for (const ms of durationsMs) {
    expect(ms).toBeGreaterThanOrEqual(0);
    expect(ms).toBeLessThan(PLAUSIBLE_MS);
  }
}

const LOOP = `const from = Date.now(); const began = performance.now(); let turns = 0;
  while (Date.now() - from < 60) { await sleep(5); if (turns++ === 0) await tools.jump() }
  return [Date.now() - from, performance.now() - began]`;

describe.each(JUMPS)('when the system clock jumps %s by an hour', (_where, jumpMs) => {
  it('the clock of a script advances evenly, and its sleep loops end', async () => {
    const { harness } = open(jumpMs);
    const outcome = await harness.runScript(LOOP);
    const [shown, measured] = valueOf(outcome) as [number, number];
    expect(shown).toBeGreaterThanOrEqual(60);
    expectPlausible(shown, measured);
    expect(measured).toBe(shown);
    const { durationMs, approvalWaitMs } = outcome.metadata;
    expectPlausible(durationMs, approvalWaitMs, ...outcome.operations.map((operation) => operation.durationMs));
  });

  it('a replay shows the script the same times', async () => {
    const { harness } = open(jumpMs, { store: memoryStore() });
    const outcome = await harness.runScript(
      'const at = [Date.now()]; for (let i = 0; i < 4; i++) { await (i === 2 ? tools.jump() : sleep(3)); at.push(Date.now()) } throw new Error(at.join())',
    );
    if (outcome.status !== 'failed') expect.fail('it completed');
    const replayed = await harness.replay(outcome.scriptId);
    expect(replayed.status === 'failed' && replayed.error.message).toBe(outcome.error.message);
  });

  it('a sleep takes its full time', async () => {
    const { harness, jump } = open(jumpMs);
    const began = performance.now();
    setTimeout(jump, 40);
    expect(valueOf(await harness.runScript('await sleep(120); return 1'))).toBe(1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(110);
  });

  it('the wall clock of a script ends it neither sooner nor later', async () => {
    const { harness, jump, release } = open(jumpMs);
    const within = harness.runScript('await tools.jump(); await sleep(20); return 1', {
      limits: { timeoutMs: 60_000 },
    });
    expect(valueOf(await within)).toBe(1);
    setTimeout(jump, 20);
    const late = await harness.runScript('await tools.hold()', { limits: { timeoutMs: 80 } });
    release();
    expect(late).toMatchObject({ status: 'failed', error: { code: 'ScriptTimeoutError' } });
  });

  it('the wait for a decision has its full time', async () => {
    const asked: ((decision: 'approve') => void)[] = [];
    const { harness, jump } = open(jumpMs, { approvals: () => new Promise((resolve) => asked.push(resolve)) });
    setTimeout(jump, 20);
    const late = harness.runScript('return await tools.note().catch(({ code }) => code)', {
      limits: { approvalTimeoutMs: 60 },
    });
    expect(valueOf(await late)).toBe('ApprovalTimeoutError');
    const inTime = harness.runScript('return await tools.note()', { limits: { approvalTimeoutMs: 60_000 } });
    await eventually(() => expect(asked).toHaveLength(2));
    jump();
    await new Promise((resolve) => setTimeout(resolve, 20));
    asked[1]!('approve');
    const outcome = await inTime;
    expect(valueOf(outcome)).toBe('noted');
    expectPlausible(outcome.metadata.approvalWaitMs, outcome.metadata.durationMs);
  });

  it('the wait for a free sandbox has its full time', async () => {
    const { harness, jump, release } = open(jumpMs, { workers: { size: 1, slotsPerWorker: 1, queueWaitMs: 80 } });
    const first = harness.runScript('return await tools.hold()');
    await eventually(() => expect(harness.stats().sandbox.running).toBe(1));
    setTimeout(jump, 20);
    const refused = await harness.runScript('return 1');
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'HarnessBusyError' } });
    release();
    await first;
    expect(valueOf(await harness.runScript('return 2'))).toBe(2);
  });

  it('a detached task reports its real duration', async () => {
    const { harness, jump, release } = open(jumpMs, { expose: { spawn: true } });
    const id = valueOf(await harness.runScript('return tools.spawn.exec("hold").id')) as string;
    jump();
    const durationOf = async () =>
      valueOf(await harness.runScript(`return (await tools.spawn.read("${id}")).durationMs`)) as number;
    expectPlausible(await durationOf());
    release();
    await harness.runScript(`await tools.spawn.wait("${id}")`);
    expectPlausible(await durationOf());
  });

  it('the clock of a suspended script does not go back, and its loops end', async () => {
    const { harness, jump } = open(jumpMs);
    const source = `const before = Date.now(); await tools.note(); const after = Date.now();
      while (Date.now() - after < 40) await sleep(5);
      return [after - before, Date.now() - after]`;
    const waiting = await harness.runScript(source);
    if (waiting.status !== 'suspended') expect.fail(JSON.stringify(waiting));
    jump();
    const decisions = { [waiting.pendingApprovals[0]!.approvalId]: 'approve' } as const;
    const [waited, looped] = valueOf(await harness.resume(waiting.suspension, decisions)) as [number, number];
    expect(waited).toBeGreaterThanOrEqual(0);
    expectPlausible(looped);
  });
});
