import { afterAll, expect, it } from 'vitest';
import type { Outcome } from '#core/protocol/index.js';
import { WORLD } from '../checker/world.js';
import { worldHarness } from '../checker/world-harness.js';
import { peerScripts, type Expected, type PeerScript } from './peer-scripts.js';
import { PEER_WORLD } from './peer-world.js';

/** The fraction of the scripts that must meet the expectations of their authors. */
const MIN_AS_EXPECTED = 0.98;
const MIN_SCRIPTS = 470;

const scripts = peerScripts();

const { harness, run } = worldHarness({ limits: { maxToolCalls: 200, timeoutMs: 5_000 } }, [...WORLD, ...PEER_WORLD]);
afterAll(() => harness.close());

/** The differences from the author's expectations; empty if there are none. */
function differences(expected: Expected, outcome: Outcome): string[] {
  const found: string[] = [];
  const told = (what: string, wanted: unknown, got: unknown) => {
    if (JSON.stringify(wanted) !== JSON.stringify(got))
      found.push(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
  };
  const called = outcome.operations.map(({ tool }) => tool);
  if (expected.gives !== undefined) {
    if (outcome.status !== 'completed') found.push(failureText(outcome));
    else told('value', expected.gives === '' ? undefined : JSON.parse(expected.gives), plain(outcome.value));
  }
  if (expected.fails !== undefined) {
    const { code, words } = expected.fails;
    if (outcome.status !== 'failed') found.push(`${outcome.status} instead of ${code}`);
    else if (outcome.error.code !== code || !failureText(outcome).includes(words)) found.push(failureText(outcome));
    if (expected.isRefused) told('calls', [], called);
  }
  if (expected.calls !== undefined) told('calls', expected.calls, called);
  if (expected.output !== undefined) told('output', expected.output, outcome.output);
  if (expected.logs !== undefined)
    told(
      'logs',
      expected.logs,
      outcome.logs.map(({ text }) => text),
    );
  return found;
}

function plain(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

function failureText(outcome: Outcome): string {
  if (outcome.status !== 'failed') return outcome.status;
  const { code, message, hint = '' } = outcome.error;
  return `${code}: ${message} ${hint}`;
}

it(`there are at least ${MIN_SCRIPTS} peer scripts, each with its own name, its source and its construct`, () => {
  expect(scripts.length).toBeGreaterThanOrEqual(MIN_SCRIPTS);
  expect(new Set(scripts.map(({ name }) => name)).size).toBe(scripts.length);
  for (const { name, source, construct } of scripts) {
    expect(source, name).not.toBe('');
    expect(construct, name).not.toBe('');
  }
});

it('the comparison can fail: it reports another value, another failure, other calls and other output', async () => {
  const outcome = await run('text("a"); return (await tools.add({ a: 1, b: 2 })) + 1');
  expect(differences({ gives: '4', isRefused: false, calls: ['add'], output: 'a' }, outcome)).toEqual([]);
  for (const wrong of [
    { gives: '5', isRefused: false },
    { gives: '', isRefused: false },
    { fails: { code: 'ScriptTypeError', words: '' }, isRefused: true },
    { gives: '4', calls: ['double'], isRefused: false },
    { gives: '4', output: 'b', isRefused: false },
  ])
    expect(differences(wrong, outcome)).not.toEqual([]);
});

it(`peer scripts do what their authors expect, ${MIN_AS_EXPECTED * 100} of 100`, async () => {
  const different: string[] = [];
  for (const script of scripts) {
    const found = differences(script.expected, await run(script.script));
    if (found.length > 0) different.push(reportOf(script, found));
  }
  const share = 1 - different.length / scripts.length;
  const report = `${scripts.length - different.length} of ${scripts.length} as expected\n${different.join('\n')}`;
  console.log(report);
  expect(share, report).toBeGreaterThanOrEqual(MIN_AS_EXPECTED);
});

function reportOf({ name, construct, source }: PeerScript, found: readonly string[]): string {
  return `- ${name} (${construct}; ${source})\n  ${found.join('\n  ')}`;
}
