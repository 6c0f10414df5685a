import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseShape } from '@toolscript/core/protocol';
import { z } from 'zod';
import { SCOPES, type Caller } from './caller.js';

/*
 * An API key is the token `tsk_ID_SECRET`. The store contains the SHA-256 of the whole token: a secret of 256 random
 * bits cannot be guessed, so a slow hash, as for passwords, would only cost time in each request.
 */

const TOKEN = /^tsk_(?<id>[0-9a-f]{16})_[\w-]{43}$/u;

const NAME = z
  .string()
  .regex(/^[\w.@:+-]{1,100}$/u, 'must be 1 to 100 letters, digits or any of . _ @ : + -, without spaces');

export const ApiKeyDraftSchema = z.strictObject({
  /** The name that users read, such as the name of the program that uses the key. */
  name: NAME,
  /** The owner of the threads, runs and approvals that the key can access. */
  principal: NAME,
  scopes: z.array(z.enum(SCOPES)).min(1),
  /** The time when the key expires, in ms since 1970. Default: the key never expires. */
  expiresAt: z.number().int().min(0).optional(),
});
export type ApiKeyDraft = z.infer<typeof ApiKeyDraftSchema>;

/** A stored key, without its secret. */
export const ApiKeySchema = ApiKeyDraftSchema.extend({
  keyId: z.string().regex(/^key_[0-9a-f]{16}$/u),
  /** SHA-256 of the token, in hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
  createdAt: z.number().int(),
});
export type ApiKey = z.infer<typeof ApiKeySchema>;

/** Stores API keys. The server calls `get` for each request with an API key, so a deleted key stops working at once. */
export interface ApiKeyStore {
  add(key: ApiKey): Promise<void>;
  /**
   * The key; undefined for an unknown key, and for a key that cannot be trusted, such as a key in a file that other
   * users can access.
   */
  get(keyId: string): Promise<ApiKey | undefined>;
  /** Oldest first. */
  list(): Promise<readonly ApiKey[]>;
  /** Returns whether the key existed. */
  delete(keyId: string): Promise<boolean>;
}

/** A new key and its token. The token is not stored. Throws a `ToolscriptUsageError` for an invalid draft. */
export function makeApiKey(draft: ApiKeyDraft, now = Date.now()): { readonly key: ApiKey; readonly token: string } {
  const { scopes, ...checked } = parseShape(ApiKeyDraftSchema, draft, 'key');
  const id = randomBytes(8).toString('hex');
  const token = `tsk_${id}_${randomBytes(32).toString('base64url')}`;
  const named = SCOPES.filter((scope) => scopes.includes(scope));
  const key = {
    ...checked,
    scopes: named,
    keyId: `key_${id}`,
    sha256: digestOf(token).toString('hex'),
    createdAt: now,
  };
  return { key, token };
}

/** The caller with this token; undefined for a token that is unknown, wrong or expired. */
export async function callerOfToken(
  keys: Pick<ApiKeyStore, 'get'>,
  token: string,
  now = Date.now(),
): Promise<Caller | undefined> {
  const id = TOKEN.exec(token)?.groups?.['id'];
  const key = id === undefined ? undefined : await keys.get(`key_${id}`);
  // defence: secret-of-the-key
  if (key === undefined || !timingSafeEqual(digestOf(token), Buffer.from(key.sha256, 'hex'))) return undefined;
  return isActive(key, now) ? { principal: key.principal, scopes: key.scopes, keyId: key.keyId } : undefined;
}

export function isActive({ expiresAt }: ApiKey, now = Date.now()): boolean {
  // defence: keys-expire, without it: return true || expiresAt;
  return expiresAt === undefined || expiresAt > now;
}

/** The SHA-256 of a text. All digests have the same length, as a constant-time comparison requires. */
export function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
