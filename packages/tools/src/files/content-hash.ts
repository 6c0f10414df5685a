import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bytes that are hashed in one turn of the event loop. */
const HASHED_AT_ONCE = 256 * 1024;

/** The SHA-256 in base64url. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/** The SHA-256 in hexadecimal digits. Yields to other work, because several large files would hold the event loop. */
export async function sha256InTurns(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE) {
    // defence: large-hashes-in-turns
    if (at > 0) await nextTurn();
    hash.update(bytes.subarray(at, at + HASHED_AT_ONCE));
  }
  return hash.digest('hex');
}

/** The hash of a symbolic link, which differs from that of every file with the same text. */
export function linkHash(target: string): string {
  return `link:${sha256(Buffer.from(target))}`;
}

/** The hash of the content after a change; undefined if the change deletes it. */
export function hashAfter({
  bytes,
  link,
}: {
  bytes: Uint8Array | undefined;
  link?: string | undefined;
}): string | undefined {
  if (link !== undefined) return linkHash(link);
  return bytes && sha256(bytes);
}
