import { afterAll, expect, it } from 'vitest';
import { FLOW_CASES, flowWorld } from './explicit-flows.js';
import { closeLabelRuns, runLabelled, sourcesAt } from './label-runs.js';

afterAll(closeLabelRuns);

/** Cases with a decoy: a first call whose result reaches nothing. */
const DECOY = 'const decoy_ = await tools.mail({ i: 2 });\n';
const shifted = (source: string) => source.replace(/#(\d+)/u, (_, index: string) => `#${Number(index) + 1}`);

for (const [name, kind, source, sources, note] of FLOW_CASES) {
  it.each([
    ['', source, (one: string) => one],
    [' behind a decoy', DECOY + source, shifted],
  ])(`labels ${name}%s`, async (_name, body, place) => {
    const { isSame, reports, plain, copy } = await runLabelled(body, flowWorld);
    expect(isSame, JSON.stringify([plain.end, copy.end])).toBe(true);
    if (note !== undefined) return;
    const calls = reports.map(({ tool }) => tool);
    const send = reports.findLast(({ tool }) => tool === 'send')!;
    for (const [path, wanted] of Object.entries(sources)) {
      const found = sourcesAt(send, path, calls);
      expect(found, path).toEqual(expect.arrayContaining(wanted.map(place)));
      if (kind === 'flow') expect(found, `over-labelled: ${path}`).toEqual(wanted.map(place));
    }
  });
}
