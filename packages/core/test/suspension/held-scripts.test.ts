import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { claimScript } from '#core/run/durability/claims.js';
import type { DurabilityServices } from '#core/run/durability/services.js';
import { Leases } from '#core/run/durability/store-journal.js';
import { HOLDER } from './world.js';

/** The refusal of a script that another process holds under this name. */
async function refusalOf(owner: string): Promise<string> {
  const store = memoryStore();
  await store.claim.take('scr_1', 0, { ...HOLDER, owner });
  const keeping = { leases: new Leases(store, HOLDER), durability: 'process' };
  const taken = await claimScript({ keeping } as unknown as DurabilityServices, 'scr_1', {});
  return 'outcome' in taken ? taken.outcome.error!.message : expect.fail('it was claimed');
}

describe('a script that another process runs', () => {
  it('is refused with the name of its holder, if it has one', async () => {
    expect(await refusalOf('host 7')).toBe(
      'Another process is already running this script (host 7). Wait until the script has ended.',
    );
    expect(await refusalOf('')).toBe(
      'Another process is already running this script. Wait until the script has ended.',
    );
  });
});
