import { defineTool } from '@toolscript/core';
import { present } from '@toolscript/core/internal';
import type { DocumentPlace, DocumentStore, Tool, ToolCallContext } from '@toolscript/core/protocol';
import { z } from 'zod';
import { DeletedVersion, deleteOnce, pinDeletion } from '../documents/deletions.js';
import { deletionPreview } from '../documents/deletion-preview.js';
import { failure } from '../failure.js';
import { documentExpiry, MAX_HOURS, awaitStore, requireThread, restoreLabel, savedLabel } from './documents.js';
import { documentChange } from './file-keys.js';

/** Maximum UTF-8 bytes of a value as JSON. */
const MAX_VALUE_BYTES = 65_536;
const PAGE = 100;

const Key = z.string().min(1).max(256);
const Scope = z.enum(['thread', 'principal']).default('thread');

type Scope = z.output<typeof Scope>;

type CallOwner = Pick<ToolCallContext, 'principal' | 'threadId'>;
type ValuePlace = (context: CallOwner, scope: Scope, name: string) => DocumentPlace;

/** store.set, store.get, store.list and store.delete: JSON values of a conversation, or of a user. */
export function storeTools(documents: DocumentStore, local?: string): Tool[] {
  const placeOf: ValuePlace = (context, scope, name) =>
    valuePlace({ threadId: context.threadId, principal: context.principal ?? local }, scope, name);
  return [setTool, getTool, listTool, deleteTool].map((make) => make(documents, placeOf));
}

function setTool(documents: DocumentStore, placeOf: ValuePlace): Tool {
  return defineTool({
    name: 'store.set',
    description: 'Stores a JSON value of at most 64 KB under a key. Later scripts get it with store.get.',
    input: z.object({
      key: Key,
      value: z.unknown(),
      scope: Scope.describe('thread: this conversation; principal: all conversations of its user'),
      ifVersion: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('the version that must be the newest; 0: no version may exist'),
      expiresInHours: z.number().gt(0).max(MAX_HOURS).optional(),
    }),
    output: z.object({ key: z.string(), version: z.number().int(), bytes: z.number().int() }),
    approval: isOfPrincipal,
    effect: 'write',
    idempotent: true,
    execute: async ({ key, value, scope, ifVersion, expiresInHours }, context) => {
      const draft = {
        ...placeOf(context, scope, key),
        text: valueJson(key, value),
        about: savedLabel(context),
        ...documentExpiry(expiresInHours),
        ...present({ ifVersion }),
        ...documentChange(context),
      };
      const { version, bytes } = await awaitStore(documents.save(draft));
      return { key, version, bytes };
    },
  });
}

function getTool(documents: DocumentStore, placeOf: ValuePlace): Tool {
  return defineTool({
    name: 'store.get',
    description: 'Returns the value of a key. If the key has no value, version is 0 and value is null.',
    input: z.object({ key: Key, scope: Scope }),
    output: z.object({ key: z.string(), value: z.unknown(), version: z.number().int() }),
    approval: 'never',
    effect: 'read',
    execute: async ({ key, scope }, context) => {
      const found = await awaitStore(documents.read(placeOf(context, scope, key)));
      restoreLabel(found, context);
      return found === undefined
        ? { key, value: null, version: 0 }
        : { key, value: JSON.parse(found.text) as unknown, version: found.version };
    },
  });
}

function listTool(documents: DocumentStore, placeOf: ValuePlace): Tool {
  return defineTool({
    name: 'store.list',
    description: 'Lists the keys that have a value.',
    input: z.object({
      prefix: z.string().max(256).optional(),
      scope: Scope,
      cursor: z.string().max(256).optional(),
    }),
    output: z.object({
      keys: z.array(z.object({ key: z.string(), version: z.number().int(), bytes: z.number().int() })),
      cursor: z.string().optional().describe('for the next page'),
    }),
    approval: 'never',
    effect: 'read',
    execute: async ({ prefix, scope, cursor }, context) => {
      const place = placeOf(context, scope, 'any');
      const query = { scope: place.scope, kind: place.kind, limit: PAGE, ...present({ prefix, after: cursor }) };
      const { documents: found, next } = await awaitStore(documents.list(query));
      const keys = found.map(({ name: key, version, bytes }) => ({ key, version, bytes }));
      return { keys, ...present({ cursor: next }) };
    },
  });
}

function deleteTool(documents: DocumentStore, placeOf: ValuePlace): Tool {
  return defineTool({
    name: 'store.delete',
    description: 'Deletes the value of a key.',
    input: z.object({ key: Key, scope: Scope, ifVersion: DeletedVersion }),
    output: z.object({ deleted: z.boolean() }),
    effect: 'write',
    idempotent: true,
    pin: (input, call) => pinDeletion(documents, placeOf(call, input.scope, input.key), input),
    preview: ({ key, scope, ifVersion }, call) =>
      deletionPreview(documents, { ...placeOf(call, scope, key), ifVersion }),
    execute: ({ key, scope, ifVersion }, context) =>
      deleteOnce(documents, { ...placeOf(context, scope, key), ifVersion }, context),
  });
}

/**
 * Whether the value belongs to a user. Later conversations can read such a value, so the approval policy decides about
 * each change.
 */
function isOfPrincipal({ scope }: { scope: Scope }): boolean {
  return scope === 'principal';
}

function valuePlace(context: CallOwner, scope: Scope, name: string): DocumentPlace {
  const { principal } = context;
  if (scope === 'thread') return { scope: { kind: 'thread', id: requireThread(context) }, kind: 'value', name };
  if (principal !== undefined) return { scope: { kind: 'principal', id: principal }, kind: 'value', name };
  throw failure('unavailable', 'This call has no user, so it has no values of a user. Omit scope: "principal".');
}

function valueJson(key: string, value: unknown): string {
  const text = value === undefined ? undefined : JSON.stringify(value);
  if (text === undefined)
    throw failure('bad_value', `The value of "${key.slice(0, 256)}" is missing. Set it to null, or delete it.`);
  const bytes = Buffer.byteLength(text);
  // defence: stored-values-are-limited
  if (bytes > MAX_VALUE_BYTES)
    throw failure(
      'too_large',
      `The value has ${bytes} bytes of JSON; a value has at most ${MAX_VALUE_BYTES}. Save it with tools.saveToFC, and store its fileKey.`,
    );
  return text;
}
