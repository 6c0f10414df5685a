import { expect, test } from 'vitest';
import { sdkDifferences } from '../sdk-differences.mjs';

const BEFORE = `
export type Effort = 'low' | 'high';
export interface Params {
  /** The number of stops. Up to 4 sequences. */
  stop?: string[];
  model: 'one' | (string & {});
}`;

test('two versions of an SDK differ in members of unions and interfaces, and in limits', () => {
  const after = BEFORE.replace("'high'", "'xhigh'").replace('Up to 4', 'Up to 16').replace('stop?', 'stops?');
  expect(sdkDifferences(BEFORE, after)).toEqual([
    "- Effort: 'high'",
    "+ Effort: 'xhigh'",
    '- Params: stop',
    '+ Params: stops',
    '+ limit: Up to 16 sequences',
    '- limit: Up to 4 sequences',
  ]);
  expect(sdkDifferences(BEFORE, BEFORE.replaceAll('  ', ' '))).toEqual([]);
});
