// The data that both processes share: the tools, the key and the store.
import { join } from 'node:path';
import { createHarness, defineTool, fileStore, type AuditEntry } from '@toolscript/core';
import { z } from 'zod';

const pay = defineTool({
  name: 'pay',
  description: 'Pays an invoice',
  input: z.object({ invoice: z.number(), cents: z.number() }),
  effect: 'external',
  preview: ({ invoice, cents }) => `pay ${(cents / 100).toFixed(2)} for invoice ${invoice}`,
  // The key is the same when the script resumes elsewhere: a payment service can recognise a repeated call by it.
  execute: ({ invoice, cents }, { idempotencyKey }) => ({ invoice, cents, receipt: idempotencyKey.split(':')[1] }),
});

export const store = fileStore(join(import.meta.dirname, '.scripts'));

export function openHarness() {
  return createHarness({
    tools: [pay],
    store,
    // A secret of at least 32 bytes, the same in every process that may resume a script.
    suspensionKey: process.env.SUSPENSION_KEY ?? 'for this example only, and not very secret',
    audit: (entry) => console.log('audit:', entry.type, entry.tool, resultOf(entry)),
  });
}

function resultOf(entry: AuditEntry): string {
  switch (entry.type) {
    case 'approval':
      return entry.decision;
    case 'call_started':
      return '…';
    case 'call_ended':
      return entry.status;
  }
}
