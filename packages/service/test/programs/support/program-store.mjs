import { openDatabase } from '../../../dist/stores/index.js';

/** A store of scripts whose heaps are in the folder (`files:`), or in the database of a URL. */
export async function openProgramStore(folder, url, fileStore) {
  if (url === 'files:') return { store: fileStore(folder), close: async () => {} };
  const { stores, scripts, close } = await openDatabase(url);
  return { store: scripts ?? { ...fileStore(folder), heaps: stores.heaps }, close };
}
