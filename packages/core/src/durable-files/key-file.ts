import { randomBytes } from 'node:crypto';
import { ToolscriptUsageError } from '../protocol/index.js';
import { createPrivateFile, readPrivateFile } from './private-file.js';

const KEY_BYTES = 32;

export interface KeyFileOptions {
  /** The path in messages. Default: the path itself. */
  readonly name?: string | undefined;
}

/** The key in a file; undefined if there is no file. Throws a `ToolscriptUsageError` for an unusable or unsafe file. */
export function readKeyFile(path: string, { name = path }: KeyFileOptions = {}): Uint8Array | undefined {
  const file = readPrivateFile(path);
  if (file === undefined) return undefined;
  if ('problem' in file) {
    if (file.problem === 'link') throw new ToolscriptUsageError('KEY_FILE_IS_LINK', { name });
    if (file.problem === 'shared') throw new ToolscriptUsageError('KEY_FILE_READABLE_BY_OTHERS', { name });
    throw new ToolscriptUsageError('KEY_FILE_UNREADABLE', { name, code: file.code });
  }
  const bytes = file.bytes.length;
  // defence: key-length
  if (bytes < KEY_BYTES) throw new ToolscriptUsageError('KEY_FILE_TOO_SHORT', { name, bytes, least: KEY_BYTES });
  return file.bytes;
}

/**
 * Reads a key that several processes share, such as for `suspensionKey`, from a file. Creates the file if it is
 * missing, with access for its owner only. Processes that create it at the same time all get the same key.
 */
export function obtainKeyFile(path: string, options: KeyFileOptions = {}): Uint8Array {
  const found = readKeyFile(path, options);
  if (found !== undefined) return found;
  createPrivateFile(path, randomBytes(KEY_BYTES));
  const key = readKeyFile(path, options);
  if (key === undefined) throw new ToolscriptUsageError('KEY_FILE_DELETED', { name: options.name ?? path });
  return key;
}
