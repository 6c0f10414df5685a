import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, stat, unlink } from 'node:fs/promises';
import { writePrivateFile } from '@toolscript/core/internal';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError, systemCode } from '../usage-error.js';

const MAX_CONFIGURATION_BYTES = 1024 * 1024;

/** The JSON in a file; undefined if the file does not exist. Throws a UsageError if it cannot be read or parsed. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await readTextFile(path);
  return text === undefined ? undefined : parseJson(text, path);
}

/** Parses the text of a file as JSON. Throws a UsageError that names the file and the line of a mistake. */
export function parseJson(text: string, path: string): unknown {
  const json = text.replace(/^\uFEFF/u, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const { message } = error as Error;
    const line = jsonErrorLine(message, json);
    throw new UsageError(
      `${visibleLine(path)} is not JSON (line ${line}): ${visibleLine(message)}. Repair it or remove it.`,
    );
  }
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The text of a file; undefined if the file does not exist. Throws a UsageError if it cannot be read. */
export async function readTextFile(path: string): Promise<string | undefined> {
  const name = visibleLine(path);
  try {
    return await readRegularFile(path, name);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ELOOP') throw notAFile(name);
    throw new UsageError(
      `${name} cannot be read (${code ?? 'unknown error'}). Make the file readable for your user, or remove the file.`,
    );
  }
}

async function readRegularFile(path: string, name: string): Promise<string> {
  // Without O_NONBLOCK, opening a FIFO waits for its writer.
  // defence: configuration-is-no-fifo
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw notAFile(name);
    if (stats.size > MAX_CONFIGURATION_BYTES) throw new UsageError(`${name} is larger than 1 MiB. Make it smaller.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function notAFile(name: string): UsageError {
  return new UsageError(`${name} is not a file. Replace it with a file, or remove it.`);
}

/** The number of the line to which a message of JSON.parse refers; the last line if the message names no position. */
export function jsonErrorLine(message: string, json: string): number {
  const position = Number(/ at position (\d+)/u.exec(message)?.[1] ?? json.length);
  return json.slice(0, position).split('\n').length;
}

/*
 * The functions below store facts in the user's own folder: one file for each fact, named by the hash of the fact, so
 * that equal facts share one file. No operation reads, changes and rewrites a file, so concurrent processes lose no
 * fact.
 */

/** The name of the file for a fact. */
export function factFileName(fact: string): string {
  return createHash('sha256').update(fact).digest('hex').slice(0, 32);
}

/**
 * Writes the complete file, or nothing, with access for the user alone. Throws a UsageError if the file cannot be
 * written.
 */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  try {
    await writePrivateFile(path, `${JSON.stringify(value, undefined, 2)}\n`);
  } catch (error) {
    throw new UsageError(
      `${visibleLine(path)} cannot be written (${systemCode(error) ?? 'unknown error'}). Make its folder writable for your user, or free disk space.`,
    );
  }
}

/** Deletes the file. Returns whether there was one. Throws a UsageError if the file cannot be deleted. */
export async function deleteFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new UsageError(
      `${visibleLine(path)} cannot be removed (${code ?? 'unknown error'}). Make its folder writable.`,
    );
  }
}
