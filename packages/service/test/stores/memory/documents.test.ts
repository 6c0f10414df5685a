import { describe, expect, it } from 'vitest';
import type { DocumentPlace } from '@toolscript/core/protocol';
import { memoryDocuments } from '#service/stores/index.js';

const place: DocumentPlace = {
  scope: { kind: 'thread', id: 'thr_1' },
  kind: 'file',
  name: 'notes.md',
};

describe('documents in memory', () => {
  it('are read as they were saved, in every stored version', async () => {
    const documents = memoryDocuments({
      now: () => 5,
      limits: { versions: 2 },
    });
    for (const text of ['one', 'zwö', 'three']) await documents.save({ ...place, text });
    expect(await documents.read(place)).toEqual({
      ...place,
      version: 3,
      bytes: 5,
      about: {},
      createdAt: 5,
      text: 'three',
    });
    expect((await documents.read(place, 2))?.bytes).toBe(4);
    expect(await documents.read(place, 1)).toBeUndefined();
    expect((await documents.versions(place)).map((one) => one.version)).toEqual([3, 2]);
  });

  it('do not exist after their expiry', async () => {
    let now = 0;
    const documents = memoryDocuments({ now: () => now });
    await documents.save({ ...place, text: 'short', expiresAt: 10 });
    now = 10;
    expect(await documents.read(place)).toBeUndefined();
    expect((await documents.save({ ...place, text: 'again' })).version).toBe(2);
  });

  it('refuse a writer whose version is not the newest, and repeat a call with its key', async () => {
    const documents = memoryDocuments();
    await documents.save({
      ...place,
      text: 'one',
      ifVersion: 0,
      idempotencyKey: 'k',
    });
    await expect(documents.save({ ...place, text: 'two', ifVersion: 0 })).rejects.toThrow('is at version 1, not 0');
    expect(
      (
        await documents.save({
          ...place,
          text: 'one',
          ifVersion: 0,
          idempotencyKey: 'k',
        })
      ).version,
    ).toBe(1);
  });

  it('are listed by page, in the order of their names', async () => {
    const documents = memoryDocuments();
    for (const name of ['b', 'a', 'c', 'other']) await documents.save({ ...place, name, text: name });
    const query = { scope: place.scope, kind: place.kind, limit: 2 };
    const first = await documents.list(query);
    expect(first.documents.map((one) => one.name)).toEqual(['a', 'b']);
    const second = await documents.list({ ...query, after: first.next });
    expect(second.documents.map((one) => one.name)).toEqual(['c', 'other']);
    expect(second.next).toBeUndefined();
  });

  it('are refused beyond the limits, with the limit', async () => {
    const documents = memoryDocuments({
      limits: { bytes: 3, totalBytes: 4, documents: 2 },
    });
    await expect(documents.save({ ...place, text: 'long' })).rejects.toThrow('at most 3');
    await documents.save({ ...place, text: 'one' });
    await expect(documents.save({ ...place, name: 'b', text: 'two' })).rejects.toThrow('at most 4 bytes');
    await documents.save({ ...place, name: 'b', text: '' });
    await expect(documents.save({ ...place, name: 'c', text: '' })).rejects.toThrow('at most 2 files');
  });
});
