import { claimLaws, takeLaws } from './claim-laws.js';
import { imageLaws } from './image-laws.js';
import { handleLaws, journalLaws, listLaws, slotLaws } from './journal-laws.js';
import type { StoreLaw } from './store-laws.js';

export type { MakeStore, StoreLaw, TestStoreOptions } from './store-laws.js';

/** The laws for every store. Run each law in the test framework of your choice. */
export function storeConformance(): readonly StoreLaw[] {
  return [...claimLaws, ...takeLaws, ...journalLaws, ...slotLaws, ...listLaws, ...handleLaws, ...imageLaws];
}
