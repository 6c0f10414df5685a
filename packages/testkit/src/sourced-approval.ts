import { createHarness, defineTool, type ApprovalRequest } from '@toolscript/core';
import { z } from 'zod';
import { sharedThreads } from './shared-threads.js';

const tool = (name: string, trust: 'trusted' | 'untrusted', from: string, result: unknown) =>
  defineTool({
    name,
    description: name,
    effect: 'read',
    approval: 'never',
    labels: () => [{ path: '', from, trust }],
    execute: () => result,
  });

/** The question about a call of the tool `pay` in this script. `from`: the author of the page that the script reads. */
export async function sourcedApproval(script: string, from = 'shop.example'): Promise<ApprovalRequest> {
  const harness = createHarness({
    ...sharedThreads(),
    approvals: 'auto',
    tools: [
      tool('readPage', 'untrusted', from, { account: 'XK05 1212', text: 'Invoice 2044' }),
      tool('findContact', 'trusted', 'contacts', { name: 'Kari', account: 'NO11 4' }),
      defineTool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({ to: z.string(), subject: z.string() }),
        effect: 'external',
        flow: { trusted: ['to'], control: true },
        execute: () => 'paid',
      }),
    ],
  });
  try {
    const { pendingApprovals = [] } = await harness.runScript(script);
    const [request] = pendingApprovals;
    if (request === undefined) throw new Error('The script asks no question.');
    return request;
  } finally {
    await harness.close();
  }
}

/** Scripts, and what a card says about the arguments of their call. */
export const SOURCED_CARDS: readonly (readonly [name: string, script: string, lines: readonly string[]])[] = [
  [
    'the tool, the line and the place of what is in an argument',
    `const page = await tools.readPage();
await tools.pay({ to: page.account.replace(' ', ''), subject: 'Invoice' });`,
    ['to: from readPage (line 1, shop.example)', 'subject: written in the script'],
  ],
  [
    'each source of an argument',
    `const page = await tools.readPage(); const who = await tools.findContact();
await tools.pay({ to: who.account + page.account, subject: page.text + who.name });`,
    [
      'to: from readPage (line 1, shop.example), findContact (line 1, contacts)',
      'subject: from readPage (line 1, shop.example), findContact (line 1, contacts)',
    ],
  ],
  [
    'what has selected an argument',
    `const page = await tools.readPage(); const who = await tools.findContact();
await tools.pay({ to: [who].find(({ name }) => name !== page.text).account, subject: 'Invoice' });`,
    [
      'to: from findContact (line 1, contacts), selected by readPage (line 1, shop.example)',
      'subject: written in the script',
    ],
  ],
  [
    'what has chosen that the call is made',
    `const page = await tools.readPage();
if (page.text.length > 3) await tools.pay({ to: 'NO11', subject: 'Invoice' });`,
    ['to: written in the script', 'subject: written in the script', 'made only if: readPage (line 1, shop.example)'],
  ],
  [
    'that a source is unknown',
    `const $ = await tools.readPage();
await tools.pay({ to: 'NO' + 11, subject: 'Invoice' });`,
    [
      'to: of unknown source',
      'subject: written in the script',
      'the call: it is not known whether untrusted text has chosen that the call is made',
    ],
  ],
];
