import { inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { SlotSnapshot } from '#core/sandbox/quickjs/slot.js';
import { openSlot } from './support/in-process-slot.js';

/** The snapshot of a script that waits for one call after `body`. */
async function snapshotAfter(body: string): Promise<SlotSnapshot> {
  const { slot, start, compile } = await openSlot();
  const segment = start(compile(`${body}; await tools.echo(1)`));
  expect(segment.end).toBe(undefined);
  return slot.capture();
}

const plainText = ({ memory }: SlotSnapshot): string => inflateRawSync(memory).toString('latin1');

describe('the memory of a suspended script', () => {
  it('is small if the script has freed 10 MB', async () => {
    const little = await snapshotAfter('');
    const much = await snapshotAfter(
      'let big = []; for (let i = 0; i < 100; i++) big[i] = String(i).repeat(50000); big = undefined',
    );
    expect(much.memory.length).toBeLessThan(little.memory.length + 4096);
  });

  it('does not contain texts that the script has freed', async () => {
    const long = `let secret = ['a', 'b'].map((x) => x + '-topsecret-'.repeat(300)); secret = undefined`;
    const short = `let code = ['x'].map((x) => x + 'smallsecret' + String(Math.floor(Math.random() * 0) + 7)); code = undefined`;
    expect(plainText(await snapshotAfter(long.replace('secret = undefined', '')))).toContain('-topsecret--topsecret-');
    expect(plainText(await snapshotAfter(long))).not.toContain('-topsecret--topsecret-');
    expect(plainText(await snapshotAfter(short.replace('code = undefined', '')))).toContain('xsmallsecret7');
    expect(plainText(await snapshotAfter(short))).not.toContain('xsmallsecret7');
  });

  it('contains what the script still has', async () => {
    const { slot, start, compile, settle } = await openSlotWithSettle();
    start(
      compile(
        `const kept = 'kept'.repeat(3); let gone = 'x'.repeat(100000); gone = ''; await tools.echo(1); return kept`,
      ),
    );
    slot.capture();
    expect(settle().text).toContain('keptkeptkept');
  });
});

async function openSlotWithSettle() {
  const opened = await openSlot();
  return { ...opened, settle: () => opened.slot.settle('[[0,1,null]]', [0], 2, 60_000) };
}
