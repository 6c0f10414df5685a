import { spawnSync } from 'node:child_process';
import { ownIdentity, type ProcessIdentity } from '@toolscript/core';
import { describe, expect, it } from 'vitest';
import { holderOf } from '#cli/threads/run-owner.js';

/** A system without /proc tells the number of a process and the name of the machine. */
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
  return holderOf({ owner: text, leaseExpiresAt: nowPlus(leftMs) }, own);
}

describe('the holder of a run, where the system tells only numbers', () => {
  it('is nobody once no process has its number', () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    expect(held({ pid })).toBeUndefined();
  });

  it('counts for as long as its lease where a process has its number, or it was on another machine', () => {
    expect(held({ pid: process.pid })).toEqual({ pid: process.pid });
    expect(held({ pid: process.pid }, -1)).toBeUndefined();
    expect(held({ pid: 999_999_999, hostname: 'elsewhere' })).toEqual({ pid: 999_999_999 });
  });

  it('counts for as long as its lease where its text says nothing', () => {
    expect(holderOf({ owner: 'worker 1', leaseExpiresAt: nowPlus(20_000) }, own)).toEqual({ pid: undefined });
    expect(holderOf({ owner: 'worker 1', leaseExpiresAt: nowPlus(-1) }, own)).toBeUndefined();
  });
});
