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

/** The ways of these cases are branches. */
const BRANCH_CASES: Readonly<Record<string, string>> = {
  'closure counter': 't',
  'if-branch copy': 't',
  'switch copy': 't',
};

it.each(FLOW_CASES.map(([name, , source, sources]) => [name, source, sources] as const))(
  'labels with branches: %s',
  async (name, body, sources) => {
    const { isSame, reports, plain, copy } = await runLabelled(body, flowWorld, undefined, true);
    expect(isSame, JSON.stringify([plain.end, copy.end])).toBe(true);
    const calls = reports.map(({ tool }) => tool);
    const send = reports.findLast(({ tool }) => tool === 'send')!;
    for (const [path, wanted] of Object.entries(sources))
      expect(sourcesAt(send, path, calls), path).toEqual(expect.arrayContaining([...wanted]));
    const branched = BRANCH_CASES[name];
    if (branched !== undefined) expect(sourcesAt(send, branched, calls)).toContain('web#0');
  },
);
