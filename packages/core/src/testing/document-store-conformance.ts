import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { CHANGE_MEMORY_MS } from '../protocol/document-store.js';
import {
  DocumentConflictError,
  DocumentKindSchema,
  DocumentLimitError,
  NotFoundError,
  StaleEpochError,
  StorageLimitError,
  ToolscriptUsageError,
  type DocumentInfo,
  type DocumentPlace,
  type DocumentScope,
  type DocumentStore,
  type RunDraft,
  type ServiceStores,
} from '../protocol/index.js';
import {
  allPages,
  heldRun,
  HOSTILE_TEXTS,
  refuses,
  runDraft,
  storesLaw,
  TestClock,
  type StoresLaw,
} from './service-laws.js';

/** The laws for every `DocumentStore`. Run each law in the test framework of your choice. */
export function documentStoreConformance(): readonly StoresLaw[] {
  return [
    ...saveLaws,
    ...repeatLaws,
    ...fenceLaws,
    ...versionLaws,
    ...listLaws,
    ...limitLaws,
    ...expiryLaws,
    ...threadLaws,
  ];
}

const ADA: DocumentScope = { kind: 'principal', id: 'ada' };

function documentPlace(name: string, change: Partial<DocumentPlace> = {}): DocumentPlace {
  return { scope: ADA, kind: 'file', name, ...change };
}

const NOTES = documentPlace('notes.md');

async function threadScope({ threads }: ServiceStores): Promise<DocumentScope> {
  const { threadId } = await threads.create({ principal: 'ada' });
  return { kind: 'thread', id: threadId };
}

async function namesIn(documents: DocumentStore, scope: DocumentScope, prefix = ''): Promise<string[]> {
  const page = await documents.list({ scope, kind: 'file', prefix, limit: 500 });
  return page.documents.map(({ name }) => name);
}

const numbers = (versions: readonly DocumentInfo[]) => versions.map(({ version }) => version);

const saveLaws: readonly StoresLaw[] = [
  storesLaw('a document is read back as it was saved', async (_, makeStores) => {
    const clock = new TestClock();
    const { documents } = await makeStores({ now: clock.now });
    const about = { title: 'T', deep: [{ a: null }, '\0'] };
    const expiresAt = clock.nowMs + 10;
    const saved = await documents.save({ ...NOTES, text: 'zwö', about, expiresAt });
    deepStrictEqual(saved, { ...NOTES, version: 1, bytes: 4, about, createdAt: clock.nowMs, expiresAt });
    deepStrictEqual(await documents.read(NOTES), { ...saved, text: 'zwö' });
    deepStrictEqual(await documents.versions(NOTES), [saved]);
    deepStrictEqual(await documents.list({ scope: ADA, kind: 'file' }), { documents: [saved] });
    const plain = await documents.save({ ...documentPlace('plain'), text: '' });
    deepStrictEqual([plain.about, plain.bytes, 'expiresAt' in plain], [{}, 0, false]);
  }),
  storesLaw('names, texts and ids of scopes are read back unchanged, whatever they contain', async ({ documents }) => {
    for (const text of HOSTILE_TEXTS) {
      const scope: DocumentScope = { kind: 'principal', id: `p${text}` };
      const place: DocumentPlace = { scope, kind: 'prompt', name: `n${text}` };
      await documents.save({ ...place, text, about: { text } });
      const found = await documents.read(place);
      deepStrictEqual([found?.name, found?.text, found?.about, found?.scope], [place.name, text, { text }, scope]);
      const listed = await documents.list({ scope, kind: 'prompt', prefix: place.name });
      deepStrictEqual(
        listed.documents.map(({ name }) => name),
        [place.name],
      );
      strictEqual(await documents.delete(place), true);
      strictEqual(await documents.read(place), undefined);
    }
    const long = documentPlace('\uffff'.repeat(256), { scope: { kind: 'workspace', id: '"'.repeat(1_024) } });
    await documents.save({ ...long, text: 'x' });
    strictEqual((await documents.read(long))?.text, 'x');
  }),
  storesLaw('documents of different scopes, kinds or names are separate', async (stores) => {
    const { documents } = stores;
    const thread = await threadScope(stores);
    const scopes: DocumentScope[] = [ADA, { kind: 'workspace', id: 'ada' }, { kind: 'principal', id: 'ADA' }, thread];
    scopes.push({ kind: 'principal', id: thread.id }, { kind: 'principal', id: `ada:${thread.id}` });
    const places = scopes.flatMap((scope) =>
      DocumentKindSchema.options.flatMap((kind) => ['a', 'A'].map((name) => ({ scope, kind, name }))),
    );
    for (const place of places) await documents.save({ ...place, text: JSON.stringify(place) });
    for (const place of places) strictEqual((await documents.read(place))?.text, JSON.stringify(place));
    strictEqual(await documents.delete(places[0]!), true);
    for (const place of places.slice(1)) strictEqual((await documents.versions(place)).length, 1);
  }),
  storesLaw('missing documents are undefined or empty', async ({ documents }) => {
    for (const id of ['none', 'thr_none', ...HOSTILE_TEXTS.filter((text) => text !== '')])
      for (const kind of ['principal', 'thread', 'workspace'] as const) {
        const place = documentPlace('x', { scope: { kind, id } });
        strictEqual(await documents.read(place), undefined);
        deepStrictEqual(await documents.versions(place), []);
        deepStrictEqual(await documents.list({ scope: place.scope, kind: 'file' }), { documents: [] });
        strictEqual(await documents.delete(place), false);
      }
  }),
  storesLaw('an invalid name, scope, kind, query or description is rejected', async ({ documents }) => {
    const places = [
      documentPlace(''),
      documentPlace('x'.repeat(257)),
      documentPlace('x', { scope: { kind: 'principal', id: '' } }),
      documentPlace('x', { scope: { kind: 'principal', id: 'x'.repeat(1_025) } }),
      documentPlace('x', { scope: { kind: 'team' as never, id: 'x' } }),
      documentPlace('x', { kind: 'film' as never }),
    ];
    for (const place of places) {
      await refuses(() => documents.save({ ...place, text: '' }), ToolscriptUsageError);
      await refuses(() => documents.read(place), ToolscriptUsageError);
      await refuses(() => documents.versions(place), ToolscriptUsageError);
      await refuses(() => documents.delete(place), ToolscriptUsageError);
    }
    const about = { text: 'x'.repeat(65_536) };
    await refuses(() => documents.save({ ...NOTES, text: '', about }), ToolscriptUsageError);
    await refuses(() => documents.save({ ...NOTES, text: '', ifVersion: -1 }), ToolscriptUsageError);
    for (const limit of [0, 0.5, 501])
      await refuses(() => documents.list({ scope: ADA, kind: 'file', limit }), ToolscriptUsageError);
    deepStrictEqual(await namesIn(documents, ADA), []);
  }),
  storesLaw(
    'a save that is repeated with its key returns the first version, across two handles too',
    async (stores, makeStores) => {
      const { documents } = stores;
      const beside = await makeStores({ beside: stores });
      const draft = { ...NOTES, text: 'one', ifVersion: 0, idempotencyKey: 'k\0' };
      const all = await Promise.all([documents, beside.documents, documents].map((each) => each.save(draft)));
      deepStrictEqual(numbers(all), [1, 1, 1]);
      await documents.save({ ...NOTES, text: 'two' });
      strictEqual((await beside.documents.save(draft)).version, 1);
      strictEqual((await documents.save({ ...draft, name: 'other' })).version, 1);
      strictEqual((await documents.save({ ...NOTES, text: 'three', idempotencyKey: 'other' })).version, 3);
      deepStrictEqual(numbers(await documents.versions(NOTES)), [3, 2, 1]);
    },
  ),
  storesLaw('changing arguments or results does not change the stored document', async ({ documents }) => {
    const about = { list: [1] };
    const saved = await documents.save({ ...NOTES, text: '', about });
    about.list.push(2);
    (saved.about.list as number[]).push(3);
    const read = await documents.read(NOTES);
    (read!.about.list as number[]).push(4);
    deepStrictEqual((await documents.read(NOTES))?.about, { list: [1] });
  }),
];

const repeatLaws: readonly StoresLaw[] = [
  storesLaw('a repeated save does not overwrite later versions, however many there are', async (_, makeStores) => {
    const { documents } = await makeStores({ documentLimits: { versions: 2 } });
    const draft = { ...NOTES, text: 'one', about: { of: 'one' }, idempotencyKey: 'k' };
    const first = await documents.save(draft);
    for (const text of ['two', 'three', 'four']) await documents.save({ ...NOTES, text });
    deepStrictEqual(await documents.save(draft), first);
    deepStrictEqual(numbers(await documents.versions(NOTES)), [4, 3]);
    strictEqual((await documents.read(NOTES))?.text, 'four');
  }),
  storesLaw('a repeated save does not bring a deleted or expired document back', async (_, makeStores) => {
    const clock = new TestClock();
    const { documents } = await makeStores({ now: clock.now, documentLimits: { documents: 1 } });
    const draft = { ...NOTES, text: 'one', expiresAt: clock.nowMs + 10, idempotencyKey: 'k' };
    const first = await documents.save(draft);
    await documents.delete(NOTES);
    for (const name of ['a', 'b', 'c']) {
      await documents.save({ ...documentPlace(name), text: name });
      await documents.delete(documentPlace(name));
    }
    deepStrictEqual(await documents.save(draft), first);
    clock.nowMs += 10;
    deepStrictEqual(await documents.save({ ...draft, expiresAt: clock.nowMs + 10 }), first);
    deepStrictEqual(await namesIn(documents, ADA), []);
  }),
  storesLaw('a repeated deletion does not delete a later version', async (stores, makeStores) => {
    const { documents } = stores;
    const beside = await makeStores({ beside: stores });
    await documents.save({ ...NOTES, text: 'one' });
    const deletion = { ...NOTES, idempotencyKey: 'k' };
    const all = await Promise.all([documents, beside.documents].map((each) => each.delete(deletion)));
    deepStrictEqual(all, [true, true]);
    await documents.save({ ...NOTES, text: 'two' });
    strictEqual(await beside.documents.delete(deletion), true);
    strictEqual((await documents.read(NOTES))?.text, 'two');
    const nothing = { ...documentPlace('other'), idempotencyKey: 'k' };
    strictEqual(await documents.delete(nothing), false);
    await documents.save({ ...documentPlace('other'), text: 'x' });
    strictEqual(await documents.delete(nothing), false);
    strictEqual(await documents.delete({ ...NOTES, idempotencyKey: 'next' }), true);
    deepStrictEqual(await namesIn(documents, ADA), ['other']);
  }),
  storesLaw('a deletion that names a version deletes no other one', async ({ documents }) => {
    strictEqual(await documents.delete({ ...NOTES, ifVersion: 0 }), false);
    await documents.save({ ...NOTES, text: 'one' });
    await documents.save({ ...NOTES, text: 'two' });
    for (const ifVersion of [0, 1, 3])
      await refuses(() => documents.delete({ ...NOTES, ifVersion }), DocumentConflictError);
    strictEqual((await documents.versions(NOTES)).length, 2);
    strictEqual(await documents.delete({ ...NOTES, ifVersion: 2 }), true);
    await refuses(() => documents.delete({ ...NOTES, ifVersion: 2 }), DocumentConflictError);
    await refuses(() => documents.delete({ ...NOTES, ifVersion: -1 }), ToolscriptUsageError);
  }),
  storesLaw('the newest changes of a year are remembered, in each scope and kind', async (_, makeStores) => {
    const clock = new TestClock();
    const { documents } = await makeStores({ now: clock.now, documentLimits: { changes: 2 } });
    const save = (idempotencyKey: string, name = 'a') =>
      documents.save({ ...documentPlace(name), text: '', idempotencyKey });
    deepStrictEqual(numbers([await save('1'), await save('2')]), [1, 2]);
    strictEqual((await save('1', 'b')).version, 1);
    strictEqual((await save('2')).version, 2);
    strictEqual((await save('1')).version, 3);
    clock.nowMs += CHANGE_MEMORY_MS - 1;
    await documents.deleteExpired();
    strictEqual((await save('1')).version, 3);
    clock.nowMs += 1;
    await documents.deleteExpired();
    strictEqual((await save('1')).version, 4);
  }),
];

const fenceLaws: readonly StoresLaw[] = [
  storesLaw('a process whose run was claimed again changes no document', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { documents, runs, threads } = stores;
    const { run, fence } = await heldRun(stores);
    const draft = { ...NOTES, text: 'one', idempotencyKey: 'k' };
    strictEqual((await documents.save({ ...draft, fence })).version, 1);
    clock.nowMs += 1_000_000;
    const claimed = await runs.claim({ owner: 'next', leaseMs: 1_000, runId: run.runId });
    const next = { runId: run.runId, epoch: claimed!.run.epoch };
    await refuses(() => documents.save({ ...draft, fence }), StaleEpochError);
    await refuses(() => documents.delete({ ...NOTES, fence }), StaleEpochError);
    strictEqual((await documents.save({ ...draft, fence: next })).version, 1);
    // A task of the run may end after the run.
    await runs.finish(next, { state: 'completed' });
    strictEqual((await documents.save({ ...NOTES, text: 'two', fence: next })).version, 2);
    strictEqual(await documents.delete({ ...NOTES, fence: next }), true);
    await threads.delete(run.threadId);
    await refuses(() => documents.save({ ...NOTES, text: 'three', fence: next }), StaleEpochError);
  }),
];

const versionLaws: readonly StoresLaw[] = [
  storesLaw('each save creates the next version, and versions are read by number', async ({ documents }) => {
    for (const text of ['one', 'two', 'three']) await documents.save({ ...NOTES, text });
    strictEqual((await documents.read(NOTES))?.text, 'three');
    strictEqual((await documents.read(NOTES, 1))?.text, 'one');
    for (const version of [0, -1, 4, 1.5, Number.NaN, 2 ** 53])
      strictEqual(await documents.read(NOTES, version), undefined);
    deepStrictEqual(numbers(await documents.versions(NOTES)), [3, 2, 1]);
    strictEqual(await documents.delete(NOTES), true);
    strictEqual(await documents.delete(NOTES), false);
    deepStrictEqual(await documents.versions(NOTES), []);
    strictEqual((await documents.save({ ...NOTES, text: 'again' })).version, 4);
  }),
  storesLaw('no number of a version is used twice, after a deletion and an expiry', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now, documentLimits: { documents: 1 } });
    const { documents } = stores;
    for (const scope of [ADA, await threadScope(stores)]) {
      const place = documentPlace('a', { scope });
      await documents.save({ ...place, text: '1' });
      await documents.delete(place);
      strictEqual(await documents.read(place, 1), undefined);
      strictEqual((await documents.save({ ...place, text: '2', ifVersion: 0, expiresAt: clock.nowMs + 1 })).version, 2);
      clock.nowMs += 1;
      strictEqual((await documents.save({ ...place, text: '3', ifVersion: 0, expiresAt: clock.nowMs + 1 })).version, 3);
      clock.nowMs += 1;
      await documents.deleteExpired();
      strictEqual(await documents.delete(place), false);
      strictEqual((await documents.save({ ...place, text: '4', ifVersion: 0 })).version, 4);
      await documents.delete(place);
      deepStrictEqual(await documents.list({ scope, kind: 'file' }), { documents: [] });
      strictEqual((await documents.save({ ...documentPlace('b', { scope }), text: '' })).version, 1);
    }
  }),
  storesLaw('the numbers of many deleted names are higher than those that were used', async (_, makeStores) => {
    const { documents } = await makeStores({ documentLimits: { documents: 2 } });
    await documents.save({ ...NOTES, text: 'one' });
    await documents.save({ ...NOTES, text: 'two' });
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await documents.delete(name === 'a' ? NOTES : documentPlace(String.fromCodePoint(name.codePointAt(0)! - 1)));
      await documents.save({ ...documentPlace(name), text: name });
    }
    ok((await documents.save({ ...NOTES, text: 'three' })).version > 2);
  }),
  storesLaw('only the newest versions are stored', async (_, makeStores) => {
    const { documents } = await makeStores({ documentLimits: { versions: 2 } });
    for (const text of ['one', 'two', 'three']) await documents.save({ ...NOTES, text });
    deepStrictEqual(numbers(await documents.versions(NOTES)), [3, 2]);
    strictEqual(await documents.read(NOTES, 1), undefined);
  }),
  storesLaw('a writer whose version is not the newest changes nothing', async ({ documents }) => {
    await refuses(() => documents.save({ ...NOTES, text: '', ifVersion: 1 }), DocumentConflictError);
    await documents.save({ ...NOTES, text: 'one', ifVersion: 0 });
    for (const ifVersion of [0, 2])
      await refuses(() => documents.save({ ...NOTES, text: 'no', ifVersion }), DocumentConflictError);
    strictEqual((await documents.save({ ...NOTES, text: 'two', ifVersion: 1 })).version, 2);
    deepStrictEqual(numbers(await documents.versions(NOTES)), [2, 1]);
  }),
  storesLaw(
    'concurrent saves lose no version, and one of several saves that expect the same version wins',
    async (stores, makeStores) => {
      const beside = await makeStores({ beside: stores });
      const both = [stores.documents, beside.documents];
      const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`);
      await Promise.all(texts.map((text, index) => both[index % 2]!.save({ ...NOTES, text })));
      const stored = await Promise.all(
        numbers(await stores.documents.versions(NOTES)).map((version) => stores.documents.read(NOTES, version)),
      );
      deepStrictEqual(
        stored.map((one) => one?.version),
        [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
      );
      deepStrictEqual(new Set(stored.map((one) => one?.text)), new Set(texts));
      const rivals = texts.map((text, index) => both[index % 2]!.save({ ...NOTES, text, ifVersion: 10 }));
      const settled = await Promise.allSettled(rivals);
      strictEqual(settled.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const one of settled)
        if (one.status === 'rejected') ok(one.reason instanceof DocumentConflictError, String(one.reason));
    },
  ),
];

const listLaws: readonly StoresLaw[] = [
  storesLaw('names are listed in code unit order, each once, and by prefix', async ({ documents }) => {
    const names = ['B', 'a', 'a/1', 'a/2', 'aé', 'b', 'Z\0', '😀', '\uff5e', '\ud800', 'a%', 'a_'];
    for (const name of names) await documents.save({ ...documentPlace(name), text: 'one' });
    await documents.save({ ...documentPlace('a'), text: 'newest' });
    const sorted = names.toSorted((left, right) => (left < right ? -1 : 1));
    deepStrictEqual(await namesIn(documents, ADA), sorted);
    for (const prefix of ['a', 'a/', 'a%', '\ud800', '\ud83d', 'x', 'Z\0'])
      deepStrictEqual(
        await namesIn(documents, ADA, prefix),
        sorted.filter((name) => name.startsWith(prefix)),
      );
    for (const limit of [1, 5, 12, 500]) {
      const all = await allPages(async (after) => {
        const page = await documents.list({
          scope: ADA,
          kind: 'file',
          limit,
          after,
        });
        ok(page.documents.length <= limit);
        return { entries: page.documents, next: page.next };
      });
      deepStrictEqual(
        all.map(({ name }) => name),
        sorted,
      );
      strictEqual(all.find(({ name }) => name === 'a')?.version, 2);
    }
  }),
];

const limitLaws: readonly StoresLaw[] = [
  storesLaw('beyond a limit nothing is stored, and the error names the limit', async (_, makeStores) => {
    const { documents } = await makeStores({ documentLimits: { bytes: 3, totalBytes: 4, documents: 2 } });
    await refuses(() => documents.save({ ...NOTES, text: 'zwö' }), DocumentLimitError);
    await documents.save({ ...NOTES, text: 'one' });
    await refuses(() => documents.save({ ...NOTES, text: 'two' }), DocumentLimitError);
    await documents.save({ ...documentPlace('b'), text: '' });
    await refuses(() => documents.save({ ...documentPlace('c'), text: '' }), DocumentLimitError);
    strictEqual((await documents.save({ ...documentPlace('b'), text: 'x' })).version, 2);
    await documents.save({ ...documentPlace('c', { kind: 'value' }), text: 'two' });
    await documents.delete(NOTES);
    await documents.save({ ...documentPlace('c'), text: 'two' });
    deepStrictEqual(await namesIn(documents, ADA), ['b', 'c']);
  }),
  storesLaw('a text of 5 000 000 bytes is stored, and a longer text is refused', async ({ documents }) => {
    const text = `${'\0"é\ud800'.repeat(714_285)}12345`;
    strictEqual((await documents.save({ ...NOTES, text })).bytes, 5_000_000);
    ok((await documents.read(NOTES))?.text === text);
    await refuses(() => documents.save({ ...NOTES, text: `${text}6` }), DocumentLimitError);
  }),
];

const expiryLaws: readonly StoresLaw[] = [
  storesLaw('an expired document does not exist, and its name is free', async (_, makeStores) => {
    const clock = new TestClock();
    const { documents } = await makeStores({ now: clock.now, documentLimits: { documents: 2, totalBytes: 20 } });
    const draft = { ...NOTES, text: 'x'.repeat(10), expiresAt: clock.nowMs + 10 };
    await documents.save(draft);
    const other = documentPlace('other');
    const repeated = { ...other, text: 'x', idempotencyKey: 'k' };
    await documents.save({ ...repeated, expiresAt: clock.nowMs + 10 });
    clock.nowMs += 9;
    strictEqual((await documents.read(NOTES))?.version, 1);
    clock.nowMs += 1;
    strictEqual(await documents.read(NOTES), undefined);
    deepStrictEqual(await documents.versions(NOTES), []);
    deepStrictEqual(await namesIn(documents, ADA), []);
    strictEqual(await documents.delete(NOTES), false);
    deepStrictEqual((await documents.save({ ...repeated, text: 'new', idempotencyKey: 'next' })).version, 2);
    strictEqual((await documents.read(other))?.text, 'new');
    strictEqual((await documents.save({ ...documentPlace('third'), text: 'x'.repeat(17) })).version, 1);
  }),
  storesLaw('the newest version decides when a document expires', async (_, makeStores) => {
    const clock = new TestClock();
    const { documents } = await makeStores({ now: clock.now });
    await documents.save({ ...NOTES, text: 'one', expiresAt: clock.nowMs + 10 });
    await documents.save({ ...NOTES, text: 'two' });
    await documents.save({ ...documentPlace('b'), text: 'one' });
    await documents.save({ ...documentPlace('b'), text: 'two', expiresAt: clock.nowMs + 10 });
    clock.nowMs += 10;
    strictEqual((await documents.read(NOTES, 1))?.text, 'one');
    strictEqual(await documents.read(documentPlace('b'), 1), undefined);
  }),
  storesLaw('expired documents are deleted, and no others', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { documents } = stores;
    const scopes = [ADA, await threadScope(stores), { kind: 'workspace', id: '/w' } as const];
    for (const scope of scopes)
      for (const [name, expiresAt] of [
        ['short', 10],
        ['long', 20],
        ['ever', undefined],
      ] as const)
        await documents.save({
          ...documentPlace(name, { scope }),
          text: name,
          ...(expiresAt === undefined ? {} : { expiresAt: clock.nowMs + expiresAt }),
        });
    strictEqual(await documents.deleteExpired(), 0);
    clock.nowMs += 10;
    strictEqual(await documents.deleteExpired(), 3);
    strictEqual(await documents.deleteExpired(), 0);
    for (const scope of scopes) deepStrictEqual(await namesIn(documents, scope), ['ever', 'long']);
  }),
];

const threadLaws: readonly StoresLaw[] = [
  storesLaw('a document of a thread needs the thread, and is deleted with it', async (stores) => {
    const { documents, threads } = stores;
    for (const id of ['thr_none', 'a\0', '../x'])
      await refuses(
        () => documents.save({ ...documentPlace('x', { scope: { kind: 'thread', id } }), text: '' }),
        NotFoundError,
      );
    const [scope, other] = [await threadScope(stores), await threadScope(stores)];
    const namesake: DocumentScope = { kind: 'principal', id: `x:thread:${scope.id}` };
    const all = [scope, other, namesake, { kind: 'principal', id: scope.id } as const];
    for (const kind of DocumentKindSchema.options)
      for (const one of all) await documents.save({ scope: one, kind, name: 'x', text: 'x' });
    await threads.delete(scope.id);
    for (const kind of DocumentKindSchema.options) {
      strictEqual(await documents.read({ scope, kind, name: 'x' }), undefined);
      for (const one of all.slice(1)) strictEqual((await documents.read({ scope: one, kind, name: 'x' }))?.text, 'x');
    }
    await refuses(() => documents.save({ ...documentPlace('x', { scope }), text: '' }), NotFoundError);
  }),
  storesLaw('a branch begins with the versions that were saved before its branch point', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { documents, threads } = stores;
    const first = await heldRun(stores);
    const scope: DocumentScope = { kind: 'thread', id: first.run.threadId };
    await documents.save({
      ...documentPlace('a', { scope }),
      text: 'a1',
      about: { of: 'a1' },
      expiresAt: clock.nowMs + 100,
    });
    await documents.save({ scope, kind: 'value', name: 'v', text: '1' });
    await stores.runs.finish(first.fence, { state: 'completed' });
    clock.nowMs += 10;
    const second = await heldRun(stores, { thread: { threadId: scope.id } });
    clock.nowMs += 10;
    await documents.save({ ...documentPlace('a', { scope }), text: 'a2' });
    await documents.save({ ...documentPlace('b', { scope }), text: 'b1' });
    const branchOf = { threadId: scope.id, turnId: second.turn.turnId };
    const { threadId } = await threads.create({ principal: 'ada', branchOf });
    const copy: DocumentScope = { kind: 'thread', id: threadId };
    deepStrictEqual(await namesIn(documents, copy), ['a']);
    const original = await documents.read(documentPlace('a', { scope }), 1);
    deepStrictEqual(await documents.read(documentPlace('a', { scope: copy })), { ...original, scope: copy });
    strictEqual((await documents.read({ scope: copy, kind: 'value', name: 'v' }))?.text, '1');
    strictEqual((await documents.save({ ...documentPlace('a', { scope: copy }), text: 'other' })).version, 2);
    strictEqual((await documents.read(documentPlace('a', { scope })))?.text, 'a2');
    await threads.delete(scope.id);
    deepStrictEqual(await namesIn(documents, copy), ['a']);
  }),
  storesLaw(
    'documents count for the bytes of their thread and of their owner, until they are deleted',
    async (stores) => {
      const { documents, threads, runs } = stores;
      const first = await heldRun(stores);
      await runs.finish(first.fence, { state: 'completed' });
      const { threadId } = first.run;
      const scope: DocumentScope = { kind: 'thread', id: threadId };
      const text = 'x'.repeat(10_000);
      const create = (bytesPerThread: number, bytesPerPrincipal: number, change: Partial<RunDraft> = {}) =>
        runs.create(runDraft({ bounds: { bytesPerThread, bytesPerPrincipal }, ...change }));
      const refused = async (...draft: Parameters<typeof create>) => refuses(() => create(...draft), StorageLimitError);
      for (const name of ['a', 'b']) await documents.save({ ...documentPlace(name, { scope }), text });
      await documents.save({ ...documentPlace('b', { scope }), text });
      await documents.save({ ...documentPlace('w', { scope: { kind: 'workspace', id: '/w' } }), text });
      await refused(30_000, 100_000, { thread: { threadId } });
      const { turn } = await create(32_000, 100_000, { thread: { threadId } });
      await refused(5_000, 30_000);
      await create(5_000, 33_000);
      await create(5_000, 5_000, { principal: 'eve' });
      await refused(20_000, 100_000, { thread: { create: { branchOf: { threadId, turnId: turn.turnId } } } });
      const branch = await threads.create({ principal: 'ada', branchOf: { threadId, turnId: turn.turnId } });
      await refused(5_000, 60_000);
      await documents.delete(documentPlace('b', { scope }));
      await refused(5_000, 40_000);
      await create(5_000, 44_000);
      await threads.delete(branch.threadId);
      await create(5_000, 15_000);
      await documents.save({ ...documentPlace('own'), text });
      await refused(5_000, 20_000);
      await documents.delete(documentPlace('own'));
      await threads.delete(threadId);
      await create(5_000, 5_000);
    },
  ),
];
