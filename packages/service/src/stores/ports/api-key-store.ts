import { z } from 'zod';

/** The permissions of a caller. `admin` includes the other permissions. */
export const SCOPES = ['read', 'run', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

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
