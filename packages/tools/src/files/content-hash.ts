import { createHash } from 'node:crypto';

/** The SHA-256 in base64url. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
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
