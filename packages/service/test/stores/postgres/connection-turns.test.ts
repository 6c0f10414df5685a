import { CallOwners } from '#service/stores/postgres/call-owners.js';
import { ConnectionTurns } from '#service/stores/postgres/connection-turns.js';
import { expect, it } from 'vitest';

/** Calls that hold a connection until they are answered. */
function heldCalls(turns: ConnectionTurns) {
  const begun: string[] = [];
  const answers: (() => void)[] = [];
  const call = (principal: string) =>
    turns.use(principal, () => {
      begun.push(principal);
      return new Promise<void>((resolve) => answers.push(resolve));
    });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const answer = async () => {
    answers.shift()!();
    await settle();
  };
  return { begun, call, settle, answer };
}

it('a principal with many calls leaves connections to the others', async () => {
  const { begun, call, settle, answer } = heldCalls(new ConnectionTurns(3, 2));
  const calls = Array.from({ length: 10 }, () => call('ada'));
  calls.push(call('bob'));
  await settle();
  expect(begun).toEqual(['ada', 'ada', 'bob']);
  for (const _call of calls) await answer();
  await Promise.all(calls);
});

it('principals take turns at the connections', async () => {
  const { begun, call, settle, answer } = heldCalls(new ConnectionTurns(1, 1));
  for (let index = 0; index < 3; index += 1) void call('ada');
  for (let index = 0; index < 2; index += 1) void call('bob');
  await settle();
  while (begun.length < 5) await answer();
  expect(begun).toEqual(['ada', 'ada', 'bob', 'ada', 'bob']);
});

it('a call that fails returns its connection', async () => {
  const turns = new ConnectionTurns(1, 1);
  await expect(turns.use('ada', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  expect(await turns.use('bob', () => Promise.resolve('answered'))).toBe('answered');
});

it('a call belongs to the principal that it names, or to that of its run or thread', () => {
  const owners = new CallOwners();
  expect(owners.owner(['run_1', 3])).toBeUndefined();
  expect(owners.owner([{ principal: 'ada', input: [] }])).toBe('ada');
  expect(owners.owner([{ filters: { principal: '"ada"' } }])).toBe('ada');
  owners.learn({ run: { runId: 'run_1', threadId: 'thr_1', principal: 'bob' }, isNew: true });
  owners.learn({ threadId: 'thr_2', principal: 'eve' });
  owners.learn(undefined);
  expect(owners.owner(['run_1', 3])).toBe('bob');
  expect(owners.owner([{ runId: 'run_1', epoch: 1 }, 30_000])).toBe('bob');
  expect(owners.owner([{ scope: { kind: 'thread', id: 'thr_1' } }])).toBe('bob');
  expect(owners.owner(['thr_2'])).toBe('eve');
});
