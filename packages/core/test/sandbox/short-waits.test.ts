import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { WakefulLoop } from '#core/sandbox/worker/link.js';
import { until } from '@toolscript/testkit/until';

const MODULE = new URL('../../dist/sandbox/worker/link.js', import.meta.url);
/** A thread that answers every message with the message and its own count. */
const ECHO = `
  const { parentPort, workerData } = require('node:worker_threads');
  let count = 0;
  import(${JSON.stringify(MODULE.href)}).then(({ onMessages }) => {
    onMessages(parentPort, () => Atomics.load(workerData, 0), (message) => parentPort.postMessage([message, count++]));
    parentPort.postMessage('ready');
    setInterval(() => parentPort.postMessage('tick'), 5).unref();
  });
`;

async function startEcho() {
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(ECHO, { eval: true, workerData: sent });
  onTestFinished(() => void worker.terminate());
  const heard: [number, number][] = [];
  let ticks = 0;
  let wake = () => {};
  await new Promise((resolve) => worker.once('message', resolve));
  worker.on('message', (message) => {
    if (message === 'tick') ticks++;
    else heard.push(message);
    wake();
  });
  const until = async (count: number) => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  const send = (message: number) => {
    worker.postMessage(message);
    Atomics.add(sent, 0, 1);
  };
  return { send, worker, heard, until, ticks: () => ticks };
}

test('every message is handled once and in order, in bursts, in quick succession and after pauses', async () => {
  const { send, heard, until } = await startEcho();
  let sent = 0;
  for (let round = 0; round < 300; round++) {
    const burst = round % 7 === 0 ? 5 : 1;
    for (let index = 0; index < burst; index++) send(sent++);
    if (round % 3 !== 0) await until(sent);
    if (round % 50 === 0) await delay(3);
  }
  await until(sent);
  expect(heard).toEqual(Array.from({ length: sent }, (_, index) => [index, index]));
});

test('a thread that stays awake for its messages still serves its timers', async () => {
  const { send, until, ticks } = await startEcho();
  const before = ticks();
  const end = performance.now() + 300;
  for (let sent = 0; performance.now() < end;) {
    send(sent++);
    await until(sent);
  }
  expect(ticks()).toBeGreaterThan(before);
});

test('a thread without messages sleeps', async () => {
  const { send, worker, until } = await startEcho();
  for (let sent = 0; sent < 200;) {
    send(sent++);
    await until(sent);
  }
  await untilAsleep(worker.performance);
});

/** Resolves when the loop has slept for most of a while: a busy machine may delay its sleep. */
async function untilAsleep({ eventLoopUtilization }: Pick<typeof performance, 'eventLoopUtilization'>): Promise<void> {
  await until(async () => {
    const before = eventLoopUtilization();
    await delay(200);
    return eventLoopUtilization(before).utilization < 0.5;
  });
}

/** A loop that got immediate answers several times in a row. */
function wakefulLoop(): WakefulLoop {
  const loop = new WakefulLoop();
  for (let message = 0; message < 8; message++) {
    loop.sent();
    loop.answered();
  }
  return loop;
}

test('a loop that waits for a quick answer serves everything else meanwhile', async () => {
  const loop = wakefulLoop();
  let served = 0;
  const timer = setInterval(() => served++, 1);
  const wasServed = () => served >= 3;
  while (!wasServed()) {
    loop.sent();
    await new Promise((resolve) => setImmediate(resolve));
    loop.answered();
  }
  clearInterval(timer);
  expect(served).toBe(3);
});

test('a loop whose answer does not come goes to sleep', async () => {
  const loop = wakefulLoop();
  loop.sent();
  await untilAsleep(performance);
});
