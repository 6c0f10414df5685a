import { closeSync, constants, fstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { lineRedactor } from '../observability/redaction.js';
import {
  readCursor,
  writeCursor,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type ServiceAuditEntry,
} from '@toolscript/service/stores';
import { DEFAULT_PAGE } from '@toolscript/core/ports';
import { matches, type AuditStore } from './audit-log.js';

/** Maximum number of bytes of one read. */
const BLOCK = 256 * 1024;

/** The search for one page stops after about this number of bytes. */
const MAX_SCAN = 8 * 1024 * 1024;

/**
 * Appends entries to a file, each as one line with one write, and reads them. The first entry creates the file. Several
 * processes may append to the file.
 */
export class AuditFile implements AuditStore {
  readonly #path: string;
  readonly #redact: (line: string) => string;
  #file: number | undefined;

  /** `secrets`: texts that are never written to the file, in addition to API keys. */
  constructor(path: string, { secrets = [] }: { readonly secrets?: readonly string[] | undefined } = {}) {
    this.#path = path;
    this.#redact = lineRedactor(secrets);
  }

  readonly append = (entry: ServiceAuditEntry): void => {
    this.#file ??= openForAppend(this.#path);
    writeSync(this.#file, `${this.#redact(JSON.stringify(entry))}\n`);
  };

  async list({ after, limit = DEFAULT_PAGE, ...filter }: AuditQuery): Promise<AuditPage> {
    const position = after === undefined ? Number.MAX_SAFE_INTEGER : readCursor('audit', after);
    return this.#reading({ entries: [] }, async (file, size) => {
      const end = Math.min(position, size);
      const entries: ServiceAuditEntry[] = [];
      for await (const { text, endsAt } of linesBackwards(file, end)) {
        if (entries.length === limit || end - endsAt > MAX_SCAN) return { entries, next: writeCursor('audit', endsAt) };
        const entry = entryIn(text, filter);
        if (entry !== undefined) entries.push(entry);
      }
      return { entries };
    });
  }

  async *export(filter: AuditFilter): AsyncGenerator<ServiceAuditEntry, void, undefined> {
    const file = await openForReading(this.#path);
    if (file === undefined) return;
    try {
      const { size } = await file.stat();
      let rest: Buffer = Buffer.alloc(0);
      for (let at = 0; at < size; at += BLOCK) {
        const lines = splitLines(Buffer.concat([rest, await readBlock(file, at, Math.min(size, at + BLOCK))]));
        rest = lines.pop()!;
        for (const line of lines) {
          const entry = entryIn(line.toString('utf8'), filter);
          if (entry !== undefined) yield entry;
        }
      }
    } finally {
      await file.close();
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  async #reading<Value>(none: Value, read: (file: FileHandle, size: number) => Promise<Value>): Promise<Value> {
    const file = await openForReading(this.#path);
    if (file === undefined) return none;
    try {
      return await read(file, (await file.stat()).size);
    } finally {
      await file.close();
    }
  }
}

interface Line {
  readonly text: string;
  /** The position after the line's line feed. */
  readonly endsAt: number;
}

/** The complete lines before `end`, last first. Ignores text after the last line feed, which is incomplete. */
async function* linesBackwards(file: FileHandle, end: number): AsyncGenerator<Line, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for (let at = end; at > 0;) {
    const from = Math.max(0, at - BLOCK);
    rest = Buffer.concat([await readBlock(file, from, at), rest]);
    at = from;
    // The text before the first line feed may lack its beginning, except at the start of the file.
    const begin = at === 0 ? 0 : rest.indexOf(10) + 1;
    if (at > 0 && begin === 0) continue;
    const lines = splitLines(rest.subarray(begin)).slice(0, -1);
    let endsAt = at + begin + lines.reduce((sum, { length }) => sum + length + 1, 0);
    for (const line of lines.toReversed()) {
      yield { text: line.toString('utf8'), endsAt };
      endsAt -= line.length + 1;
    }
    rest = rest.subarray(0, begin);
  }
}

/** Splits bytes at line feeds. The last entry is the text after the last line feed. */
function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let index = bytes.indexOf(10); index !== -1; index = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, index));
    start = index + 1;
  }
  return [...lines, bytes.subarray(start)];
}

async function readBlock(file: FileHandle, from: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(end - from), 0, end - from, from);
  return buffer.subarray(0, bytesRead);
}

/**
 * Returns undefined for an entry that does not match the filter, and for a line that is not valid JSON, such as a line
 * that a full disk has truncated.
 */
function entryIn(text: string, filter: AuditFilter): ServiceAuditEntry | undefined {
  try {
    const entry = JSON.parse(text) as ServiceAuditEntry;
    return matches(entry, filter) ? entry : undefined;
  } catch {
    return undefined;
  }
}

async function openForReading(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function openForAppend(path: string): number {
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  // defence: audit-no-follow
  const flags = O_APPEND | O_CREAT | O_WRONLY | constants.O_NOFOLLOW;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, flags, 0o600);
  // defence: audit-regular-file
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error(`${path} is not a regular file. Remove it, so that the audit log can create a file there.`);
}
