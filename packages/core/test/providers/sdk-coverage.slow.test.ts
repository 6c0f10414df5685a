import { beforeAll, expect, test } from 'vitest';
import { checkGeneratedTable } from '../../../../scripts/test/documents.js';
import { sdkSchemas } from './request-schemas.js';
import { coverageOf, type Finding } from './sdk-coverage.js';

/* Everything that the types of the newest SDKs say a service can send: `npm run providers` compares them. */

let findings: readonly Finding[] = [];
beforeAll(async () => {
  findings = await coverageOf(sdkSchemas());
}, 900_000);

const nameOf = ({ api, kind, type }: Finding): string => `${api}: ${kind} ${type}`;

test('nothing that a service can send is lost', () => {
  expect(findings.filter(({ fate }) => fate === 'lost').map(nameOf)).toEqual([]);
});

test('what was received goes back as a legal request, in every format', () => {
  const refused = findings.flatMap((found) => found.problems.map((problem) => `${nameOf(found)}: ${problem}`));
  expect(refused.map((problem) => problem.slice(0, 1000))).toEqual([]);
});

test('docs/reference/providers.md tells what becomes of each type', () => {
  const rows = new Map<string, Set<string>>();
  for (const { api, kind, type, fate } of findings) {
    const key = JSON.stringify([api, `${kind}s`, fate]);
    rows.set(key, (rows.get(key) ?? new Set()).add(`\`${type}\``));
  }
  const table = [...rows].map(([key, types]) => [...(JSON.parse(key) as string[]), [...types].join(' ')]);
  checkGeneratedTable(
    'docs/reference/providers.md',
    'coverage',
    [['format', 'of an answer', 'are', 'types'], ...table],
    (found, expected) => expect(found).toBe(expected),
  );
});
