// A process of a service: `node service-process.mjs <url> <index> <processes> <runs> <leaseMs> [<work> <call>
// [<method>]]`. It submits its share of the runs and its neighbor's, executes runs, decides their approvals and stores their events, until all are
// done. It writes acknowledgements on stdout at once: the process completed each acknowledged step before it was killed.
// With `work`, it kills itself after that many runs that it has finished or decided: in the given call to a store after
// them, of any method or of `method`.
import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openEventLog, openStores } from '#service/stores/index.js';

const [url, ...numbers] = process.argv.slice(2);
const [index, processCount, runCount, leaseMs, lastWork = Number.POSITIVE_INFINITY, lastCall] = numbers.map(Number);
const lastMethod = numbers[6];
let worked = 0;
let lateCalls = 0;
const name = `p${index}`;
const { close, ...stores } = await openStores(url);
const [threads, runs, log] = [stores.threads, stores.runs, await openEventLog(url)].map(mortal);
const GROUP = { group: 'persistence', consumer: name, leaseMs };
let isSubmitted = false;

say('ready');
await Promise.all([submit(), work(), work(), decide(), store()]);
await close();
await log.close();
say('done');

async function submit() {
  const all = Array.from({ length: runCount }, (_, number) => number);
  const shares = [index, (index + 1) % processCount];
  for (const number of all.filter((number) => shares.includes(number % processCount))) {
    const { run } = await runs.create({
      principal: 'ada',
      thread: { create: {} },
      input: [{ type: 'message', id: 'item_user', role: 'user', content: `${number}` }],
      idempotencyKey: `key ${number}`,
    });
    say('created', number, run.runId);
  }
  isSubmitted = true;
}

async function work() {
  for (;;) {
    const claimed = await runs.claim({ owner: name, leaseMs });
    if (claimed !== undefined) await execute(claimed).catch(leaveIfStale);
    else if (await isAllDone()) return;
    else await delay(20);
  }
}

async function isAllDone() {
  if (!isSubmitted) return false;
  const states = ['queued', 'running', 'suspended'];
  const pages = await Promise.all(states.map((state) => runs.list({ state, limit: 1 })));
  return pages.every((page) => page.runs.length === 0);
}

async function execute({ run, turn, approvals }) {
  const fence = { runId: run.runId, epoch: run.epoch };
  const renewal = setInterval(() => void runs.renew(fence, leaseMs).catch(() => {}), leaseMs / 3);
  try {
    const number = Number(turn.input[0].content);
    const { nextSeq } = await log.open(run.runId, run.epoch);
    const count = 7 + (number % 4);
    for (let seq = nextSeq; seq < count; seq++) {
      if (mustSuspend(number, seq, approvals)) return await suspend(fence);
      if (Math.random() < 0.01) clearInterval(renewal);
      if (Math.random() < 0.01) await delay(leaseMs * 2);
      if (Math.random() < 0.01) return await runs.release(fence);
      await log.publish(run.epoch, [eventOf(run, seq, count, { number, decided: approvals[0]?.state })]);
    }
    await runs.finish(fence, { state: 'completed' });
    say('finished', run.runId, run.epoch);
  } finally {
    clearInterval(renewal);
  }
}

/** Every third run waits for a user before its event 4. */
function mustSuspend(number, seq, approvals) {
  return number % 3 === 0 && seq === 4 && approvals.length === 0;
}

async function suspend(fence) {
  const approvalId = `apr_${fence.runId}`;
  const request = {
    approvalId,
    callId: 'call',
    tool: 'pay',
    input: {},
    inputJson: '{}',
    effect: 'write',
    rendered: 'pay',
    plan: [],
    covers: [],
    digest: 'all',
    planned: false,
    createdAt: 1,
  };
  await runs.suspend(fence, [{ request }]);
}

function eventOf({ runId, threadId, turnId, epoch }, seq, count, said) {
  const message = {
    type: 'message',
    id: `item_${seq}`,
    role: 'assistant',
    content: JSON.stringify({ ...said, epoch }),
  };
  const payload =
    seq === count - 1
      ? { type: 'response_done', status: 'completed' }
      : { type: 'item_done', item_id: message.id, final_item: message };
  const names = { event_id: `evt_${runId}_${seq}`, run_id: runId, thread_id: threadId, turn_id: turnId };
  return { ...names, seq, timestamp: 0, payload };
}

async function decide() {
  for (;;) {
    const { approvals } = await threads.listApprovals({ state: 'pending', limit: 20 });
    for (const { approvalId } of approvals) {
      const decided = await threads.decide(approvalId, Math.random() < 0.5 ? 'approve' : 'deny', name);
      if (decided.isWinner) say('won', approvalId, decided.approval.state);
    }
    if (await isAllDone()) return;
    await delay(10);
  }
}

async function store() {
  for (;;) {
    const delivery = await log.receive(GROUP);
    if (delivery !== undefined) {
      await threads.append(delivery.events);
      await log.acknowledge(delivery);
    } else if (await isAllDone()) return;
    else await delay(20);
  }
}

function leaveIfStale(error) {
  if (error.name !== 'StaleEpochError') throw error;
}

/** Kills this process in the chosen call, which has been sent. */
function mortal(port) {
  return new Proxy(port, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...parameters) => {
        const called = member.apply(target, parameters);
        if (worked >= lastWork && (lastMethod ?? name) === name) lateCalls += 1;
        if (lateCalls === lastCall) process.kill(process.pid, 'SIGKILL');
        return called;
      };
    },
  });
}

/** Waits until the test has a place for it. */
function say(...words) {
  if (words[0] === 'finished' || words[0] === 'won') worked += 1;
  for (;;) {
    try {
      writeSync(1, `${words.join(' ')}\n`);
      return;
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}
