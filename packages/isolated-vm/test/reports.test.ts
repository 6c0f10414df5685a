import { describe, expect, it } from 'vitest';
import { GuestBreach } from '@toolscript/core/internal';
import { readReport, type IsolateLive } from '#isolated-vm/live.js';
import { TEST_LIMITS } from '@toolscript/core/testing';

/* The host reads what a child process says as if a script had taken it over. These tests need no isolated-vm. */

type Figures = Parameters<typeof readReport>[2];

const FIGURES: Figures = { computeMs: 1, memoryBytes: 1, unhandled: [] };

/** The members of a run that a report is read with. */
function openRun(): IsolateLive {
  return {
    key: 1,
    calls: 0,
    pending: new Set<number>(),
    unhandled: [],
    job: { limits: { ...TEST_LIMITS, maxCalls: 2, maxBuiltinCalls: 1 } },
  } as unknown as IsolateLive;
}

const read = (text: string, figures: object = {}) =>
  readReport(openRun(), text, { ...FIGURES, ...(figures as Partial<Figures>) });

describe('a report of the child process', () => {
  it('more calls than the limit allows are refused', () => {
    expect(() => read(`${'1,1;'.repeat(4)}-:`)).toThrow('more calls than its limit');
  });

  it('a text that the bridge does not write is refused', () => {
    for (const text of ['x', '1,1', ';-', '-{}', '-!null']) expect(() => read(text), text).toThrow(GuestBreach);
  });

  it('an end that no engine has is an internal failure', () => {
    for (const end of [{ type: 'limit', limit: 'patience' }, { type: 'returned', json: '1' }, { type: 7 }])
      expect(read('', { end }).end, JSON.stringify(end)).toMatchObject({ type: 'internal' });
  });

  it('rejections that are no list are refused', () => {
    for (const unhandled of ['text', {}, null, 7])
      expect(() => read('', { unhandled })).toThrow('no list of rejections');
  });

  it('figures that are no numbers count as none', () => {
    const segment = read('', { computeMs: 'NaN', memoryBytes: -1, end: { type: 'limit', limit: 'wall' } });
    expect(segment).toMatchObject({ end: { type: 'limit', limit: 'wall' } });
    expect(JSON.stringify(segment)).not.toContain('NaN');
  });
});
