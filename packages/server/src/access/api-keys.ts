import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  ApiKeyDraftSchema,
  parseShape,
  SCOPES,
  type ApiKey,
  type ApiKeyDraft,
  type ApiKeyStore,
} from '@toolscript/service/stores';
import type { Caller } from './caller.js';

/*
 * An API key is the token `tsk_ID_SECRET`. The store contains the SHA-256 of the whole token: a secret of 256 random
 * bits cannot be guessed, so a slow hash, as for passwords, would only cost time in each request.
 */

const TOKEN = /^tsk_(?<id>[0-9a-f]{16})_[\w-]{43}$/u;

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
    sha256: textDigest(token).toString('hex'),
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
  if (key === undefined || !timingSafeEqual(textDigest(token), Buffer.from(key.sha256, 'hex'))) return undefined;
  return isActive(key, now) ? { principal: key.principal, scopes: key.scopes, keyId: key.keyId } : undefined;
}

export function isActive({ expiresAt }: ApiKey, now = Date.now()): boolean {
  // defence: keys-expire
  return expiresAt === undefined || expiresAt > now;
}

/** The SHA-256 of a text. All digests have the same length, as a constant-time comparison requires. */
export function textDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
