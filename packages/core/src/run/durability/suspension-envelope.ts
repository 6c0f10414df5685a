import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { ToolscriptUsageError } from '../../protocol/index.js';
import { LineMac } from './line-mac.js';

/** A secret of at least 32 bytes; text counts as its UTF-8 bytes. */
export type SuspensionKey = string | Uint8Array;

/** The first key of a list seals suspensions; every key of the list opens them. */
export type SuspensionKeys = SuspensionKey | readonly SuspensionKey[];

/**
 * The readable header of a sealed script. It is authenticated together with the content: a header that was changed or
 * attached to other content cannot be opened.
 */
const HeaderSchema = z.strictObject({
  kind: z.literal('toolscript.suspension'),
  version: z.literal(1),
  scriptId: z.string(),
  /**
   * The number of claims of the script when the suspension was created. Without a stored journal, only the next claim
   * can resume the script.
   */
  epoch: z.number().int().min(0),
  principal: z.string().optional(),
  threadId: z.string(),
  /** The run of the script in the store. */
  runId: z.string().optional(),
  /** The time of the suspension, in ms since 1970. */
  createdAtMs: z.number(),
  /** The names of the engine and the image that the script's memory needs. */
  images: z.array(z.string()),
});

const EnvelopeSchema = HeaderSchema.extend({ keyId: z.string(), nonce: z.string(), sealed: z.string() });

export type SuspensionHeader = z.infer<typeof HeaderSchema>;

/** The reason why a suspension cannot be opened, for the caller of `resume`. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

const MIN_KEY_BYTES = 32;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Higher levels take twice as long and reduce the size by only a tenth more. */
const DEFLATE_LEVEL = 3;
/** Maximum bytes of the inflated JSON, far more than any script's results need. */
const MAX_BYTES = 2 ** 30;

interface DerivedKey {
  id: string;
  /** The key for suspensions. */
  secret: Buffer;
  /** For the lines of journals. */
  lines: LineMac;
  /** The key for heaps. */
  heaps: Buffer;
}

/**
 * Seals stored scripts: deflates the data, then encrypts it with AES-256-GCM, a unique nonce and the header as
 * associated data. The key is derived from the secret by HKDF (RFC 5869). The id of a key identifies the key and
 * reveals nothing about it.
 */
export class SuspensionSeal {
  readonly #getKeys: () => readonly SuspensionKey[];
  #derivedKeys: readonly DerivedKey[] | undefined;

  /**
   * `keys`: the first key seals suspensions; every key opens them. Without keys, the seal uses a random key of its own.
   * If `keys` is a function, it is called at the first use.
   */
  constructor(keys: readonly SuspensionKey[] | (() => readonly SuspensionKey[])) {
    this.#getKeys = typeof keys === 'function' ? keys : () => (keys.length === 0 ? [randomBytes(MIN_KEY_BYTES)] : keys);
    if (typeof keys !== 'function') this.#derivedKeys = this.#getKeys().map(derive);
  }

  get #keys(): readonly DerivedKey[] {
    this.#derivedKeys ??= this.#getKeys().map(derive);
    return this.#derivedKeys;
  }

  /** The ids of the keys. The first one seals. */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ id }) => id);
  }

  /** Returns the MAC of a text: 43 characters of base64url. */
  mac(text: string): string {
    return this.#keys[0]!.lines.mac(text);
  }

  /** Whether one of the keys made this MAC of the text. */
  isMac(text: string, mac: string): boolean {
    const given = Buffer.from(mac);
    return this.#keys.some(({ lines }) => {
      const own = Buffer.from(lines.mac(text));
      return own.length === given.length && timingSafeEqual(own, given);
    });
  }

  /** Encrypts a part of a heap. It can be opened only with the same associated data. */
  sealHeap(bytes: Uint8Array, associated: string): Buffer {
    const { id, heaps } = this.#keys[0]!;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', heaps, nonce).setAAD(Buffer.from(associated));
    return Buffer.concat([Buffer.from(id, 'hex'), nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** Decrypts what `sealHeap` returned. Throws a `SealError` if the key is unknown, or the bytes or the data differ. */
  openHeap(sealed: Uint8Array, associated: string): Buffer {
    const [idEnd, textAt] = [KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES];
    if (sealed.length < textAt + TAG_BYTES) throw new SealError('it is truncated. Start a new program');
    const id = Buffer.from(sealed.subarray(0, idEnd)).toString('hex');
    const key = this.#keys.find((each) => each.id === id);
    if (key === undefined)
      throw new SealError('it was sealed with an unknown key. Use the suspensionKey of the process that stored it');
    const decipher = createDecipheriv('aes-256-gcm', key.heaps, sealed.subarray(idEnd, textAt), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(associated))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      // defence: sealed-heaps-are-verified
      return Buffer.concat([decipher.update(sealed.subarray(textAt, -TAG_BYTES)), decipher.final()]);
    } catch {
      throw new SealError('it was changed after it was sealed. Start a new program');
    }
  }

  /** Seals a suspension. `bytes` is stored unchanged, `data` as JSON. */
  seal(header: SuspensionHeader, data: unknown, bytes: Uint8Array): string {
    const { id, secret } = this.#keys[0]!;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(associatedData(header, id));
    const json = deflateRawSync(JSON.stringify(data), { level: DEFLATE_LEVEL });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(json.length);
    const sealed = Buffer.concat([
      cipher.update(length),
      cipher.update(json),
      cipher.update(bytes),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    const closed = { keyId: id, nonce: nonce.toString('base64'), sealed: sealed.toString('base64') };
    return JSON.stringify({ ...header, ...closed });
  }

  /**
   * Opens a sealed text. Throws a `SealError` if the text is not a suspension of a known version, if none of the keys
   * sealed the text, or if the text was changed after it was sealed.
   */
  open(text: string): { header: SuspensionHeader; data: unknown; bytes: Uint8Array } {
    const { keyId, nonce, sealed, ...header } = readEnvelope(text);
    const key = this.#keys.find(({ id }) => id === keyId);
    if (key === undefined)
      throw new SealError(
        'it was sealed with an unknown key. Use the suspensionKey of the process that suspended the script',
      );
    const plain = decrypt(key, header, Buffer.from(nonce, 'base64'), Buffer.from(sealed, 'base64'));
    const end = 4 + plain.readUInt32LE(0);
    const json = inflateRawSync(plain.subarray(4, end), { maxOutputLength: MAX_BYTES }).toString('utf8');
    return { header, data: JSON.parse(json), bytes: plain.subarray(end) };
  }
}

function readEnvelope(text: string): z.infer<typeof EnvelopeSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SealError("it is truncated or not a suspension. Pass the whole text of the outcome's suspension");
  }
  const version: unknown = (value as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version !== 1)
    throw new SealError(`it has version ${version}, and this release supports only 1. Resume it with a later release`);
  const parsed = EnvelopeSchema.safeParse(value);
  if (!parsed.success) throw new SealError("it is not a suspension. Pass the text of the outcome's suspension");
  return parsed.data;
}

function decrypt({ id, secret }: DerivedKey, header: SuspensionHeader, nonce: Buffer, sealed: Buffer): Buffer {
  if (nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES + 4)
    throw new SealError('it is truncated. Pass its whole text');
  const decipher = createDecipheriv('aes-256-gcm', secret, nonce, { authTagLength: TAG_BYTES })
    .setAAD(associatedData(header, id))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    // defence: sealed-bytes-are-verified
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw new SealError('it was changed or truncated after it was sealed. Pass its text as it was stored');
  }
}

/** Returns the associated data. Its members have a fixed order, so that the order in a JSON text does not matter. */
function associatedData(header: SuspensionHeader, keyId: string): Buffer {
  const { kind, version, scriptId, epoch, principal, threadId, runId, createdAtMs, images } = header;
  // defence: header-is-sealed-in
  return Buffer.from(
    JSON.stringify([
      kind,
      version,
      scriptId,
      epoch,
      principal ?? null,
      threadId,
      runId ?? null,
      createdAtMs,
      images,
      keyId,
    ]),
  );
}

function derive(key: SuspensionKey): DerivedKey {
  const bytes = typeof key === 'string' ? Buffer.from(key, 'utf8') : key;
  if (bytes.length < MIN_KEY_BYTES)
    throw new ToolscriptUsageError('SUSPENSION_KEY_TOO_SHORT', { bytes: bytes.length, least: MIN_KEY_BYTES });
  const secret = Buffer.from(hkdfSync('sha256', bytes, '', 'toolscript suspension 1', 32));
  const id = createHash('sha256').update('toolscript suspension key id').update(secret).digest('hex').slice(0, 16);
  const lines = new LineMac(Buffer.from(hkdfSync('sha256', bytes, '', 'toolscript journal 1', 32)));
  const heaps = Buffer.from(hkdfSync('sha256', bytes, '', 'toolscript heap 1', 32));
  return { id, secret, lines, heaps };
}
