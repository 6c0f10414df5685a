import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { coreFile } from '../../files/core-files.js';
import type { ImageSource } from '../../protocol/index.js';
import { MAX_MAPPED_MB } from '../quickjs/changed-pages.js';
import { HEADROOM_PAGES, PROTOCOL_VERSION, type Image, type ImageHeader } from '../quickjs/image.js';
import { SnapshotError } from '../quickjs/snapshot.js';
import { WebAssemblyApi, type WasmModule } from '../quickjs/webassembly.js';

/** An engine, and its image from which scripts start. */
export interface ExecuteArtefacts {
  module: WasmModule;
  execute: Image;
}

/** Engine and images, read once and shared by all workers of a runtime. */
export interface Artefacts extends ExecuteArtefacts {
  compile: Image;
}

/** The images in which scripts start; `labels`: those of copies that report labels. */
export type StartImage = 'execute' | 'labels';

/** Reads this version's engine and images. `maxMemoryMb` is the maximum linear memory of one instance. */
export async function loadArtefacts(maxMemoryMb: number, image: StartImage = 'execute'): Promise<Artefacts> {
  const [engine, execute, compile] = await Promise.all([readEngine(), loadImageFile(image), loadImageFile('compile')]);
  return { module: await compileEngine(engine, execute, maxMemoryMb), execute, compile };
}

/** This version's engine and image by their names, in that order. A captured script needs both when it is restored. */
export async function keepableArtefacts(): Promise<ReadonlyMap<string, Uint8Array>> {
  const [engine, { header, content }] = await Promise.all([readEngine(), loadImageFile('execute')]);
  const image = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), content]);
  return new Map([engine, image].map((bytes) => [sha256(bytes), bytes]));
}

/**
 * Reads an engine and an image of another version. Throws a `SnapshotError` if the engine or the image is missing or
 * damaged, or if this version cannot run them.
 */
export async function loadStoredArtefacts(
  [engineName = '', imageName = '']: readonly string[],
  images: ImageSource,
  maxMemoryMb: number,
): Promise<ExecuteArtefacts> {
  const [engine, image] = await Promise.all([findStoredImage(engineName, images), findStoredImage(imageName, images)]);
  const execute = readImage(image);
  if (execute.header.protocol !== PROTOCOL_VERSION)
    throw new SnapshotError(
      `the image uses version ${execute.header.protocol} of the guest's protocol`,
      'Resume the script with the version of Toolscript that suspended it.',
    );
  if (execute.header.engine !== engineName) throw new SnapshotError('the image belongs to another engine');
  return { module: await compileEngine(engine, execute, maxMemoryMb), execute };
}

async function findStoredImage(name: string, images: ImageSource): Promise<Uint8Array> {
  const bytes = await images(name);
  if (bytes === undefined)
    throw new SnapshotError(`the image ${name} is not stored`, 'Use the store in which the script was suspended.');
  // defence: kept-images-are-verified
  if (sha256(bytes) !== name) throw new SnapshotError(`the image ${name} is damaged`);
  return bytes;
}

function readImage(bytes: Uint8Array): Image {
  const headerEnd = bytes.indexOf(10);
  const header = JSON.parse(Buffer.from(bytes.subarray(0, headerEnd)).toString('utf8')) as ImageHeader;
  return { header, content: bytes.subarray(headerEnd + 1) };
}

function compileEngine(engine: Uint8Array, { header }: Image, maxMemoryMb: number): Promise<WasmModule> {
  return WebAssemblyApi.compile(
    limitMemory(engine, header.pages + HEADROOM_PAGES, Math.min(maxMemoryMb, MAX_MAPPED_MB) * 16),
  );
}

function readEngine(): Promise<Uint8Array> {
  return readFile(artefact('engine.wasm'));
}

function artefact(name: string): URL {
  return coreFile(`sandbox/artefacts/${name}`);
}

async function loadImageFile(name: string): Promise<Image> {
  const [content, header] = await Promise.all([
    readFile(artefact(`${name}.image`)),
    readFile(artefact(`${name}.json`), 'utf8'),
  ]);
  const parsed = JSON.parse(header) as ImageHeader;
  if (parsed.protocol !== PROTOCOL_VERSION)
    throw new Error(
      `The sandbox image uses version ${parsed.protocol} of the guest's protocol, not ${PROTOCOL_VERSION}. Install @toolscript/core again, or in its repository run: npm run build`,
    );
  const shared = new Uint8Array(new SharedArrayBuffer(content.length));
  shared.set(content);
  return { header: parsed, content: shared };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Sets the memory limits of a WebAssembly binary that has exactly one memory section.
 * Format: WebAssembly core specification 1.0, section 5.5.8.
 */
export function limitMemory(binary: Uint8Array, minPages: number, maxPages: number): Uint8Array {
  const MEMORY_SECTION = 5;
  let offset = 8;
  while (offset < binary.length) {
    const start = offset;
    const id = binary[offset++];
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = binary[offset++]!;
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    const end = offset + length;
    if (id === MEMORY_SECTION) {
      const body = [1, 1, ...leb(minPages), ...leb(Math.max(minPages, maxPages))];
      return Buffer.concat([
        binary.subarray(0, start),
        Uint8Array.of(MEMORY_SECTION, ...leb(body.length), ...body),
        binary.subarray(end),
      ]);
    }
    offset = end;
  }
  throw new Error('The file engine.wasm has no memory section, so it is damaged. Install @toolscript/core again.');
}

function leb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)];
}
