import { spawnSync } from 'node:child_process';
import { isOfThisBoot, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core/internal';
import { describe, expect, it } from 'vitest';
import { liveHolder } from '#service/runs/run-owner.js';

/** A system without /proc reports the number of a process and the name of the machine. */
const own: ProcessIdentity = {
  ...ownIdentity(),
  instance: 'own',
  startTime: undefined,
  bootId: undefined,
  pidNamespace: undefined,
};

function nowPlus(ms: number): number {
  return Date.now() + ms;
}

function held(owner: Partial<ProcessIdentity>, leftMs = 20_000) {
  const text = JSON.stringify({ ...own, instance: 'other', ...owner });
  return liveHolder({ owner: text, leaseExpiresAt: nowPlus(leftMs) }, own);
}

it('a run counts as claimed since the machine started only if its owner shows it', () => {
  const here = { ...own, bootId: 'this boot' };
  const owner = (bootId: string | undefined) => ({ ...own, instance: 'other', bootId });
  expect(isOfThisBoot(owner('this boot'), here)).toBe(true);
  expect(isOfThisBoot(owner('another boot'), here)).toBe(false);
  expect(isOfThisBoot(owner(undefined), own)).toBe(false);
  expect(isOfThisBoot(parseIdentity('worker 1'), here)).toBe(false);
});

describe('the holder of a run, if the system reports only PIDs', () => {
  it('is gone when no process has its PID', () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    expect(held({ pid })).toBeUndefined();
  });

  it('counts until its lease expires if a process has its PID, or it was on another machine', () => {
    expect(held({ pid: process.pid })).toEqual({ pid: process.pid });
    expect(held({ pid: process.pid }, -1)).toBeUndefined();
    expect(held({ pid: 999_999_999, hostname: 'elsewhere' })).toEqual({ pid: 999_999_999 });
  });

  it('counts until its lease expires if its identity is unreadable', () => {
    expect(liveHolder({ owner: 'worker 1', leaseExpiresAt: nowPlus(20_000) }, own)).toEqual({ pid: undefined });
    expect(liveHolder({ owner: 'worker 1', leaseExpiresAt: nowPlus(-1) }, own)).toBeUndefined();
  });
});
