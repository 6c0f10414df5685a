import { open, stat } from 'node:fs/promises';

/**
 * The beginning of a regular file, and the size of the whole file. Undefined for a folder, a pipe and the like. Rejects
 * with the error of the system.
 */
export async function readFileStart(
  path: string,
  maxBytes: number,
): Promise<{ bytes: Buffer; size: number } | undefined> {
  // Opening a pipe would wait for its writer.
  const found = await stat(path);
  if (!found.isFile()) return undefined;
  const { size } = found;
  const length = Math.min(size, maxBytes);
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return { bytes: buffer.subarray(0, bytesRead), size };
  } finally {
    await file.close();
  }
}
