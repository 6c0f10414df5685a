import { readFile } from 'node:fs/promises';
import { limitMemory } from '../quickjs/engine-binary.js';
import { HEADROOM_PAGES, PROTOCOL_VERSION, type Image, type ImageHeader } from '../quickjs/image.js';
import { WebAssemblyApi, type WasmModule } from '../quickjs/webassembly.js';

/** Engine and images, read once and shared by all workers of a runtime. */
export interface Artefacts {
  module: WasmModule;
  execute: Image;
  compile: Image;
}

const folder = new URL('../artefacts/', import.meta.url);

/** `maxMemoryMb` is the most linear memory one instance can ever have. */
export async function loadArtefacts(maxMemoryMb: number): Promise<Artefacts> {
  const [engine, execute, compile] = await Promise.all([
    readFile(new URL('engine.wasm', folder)),
    loadImageFile('execute'),
    loadImageFile('compile'),
  ]);
  const module = await WebAssemblyApi.compile(
    limitMemory(engine, execute.header.pages + HEADROOM_PAGES, maxMemoryMb * 16),
  );
  return { module, execute, compile };
}

async function loadImageFile(name: string): Promise<Image> {
  const [content, header] = await Promise.all([
    readFile(new URL(`${name}.image`, folder)),
    readFile(new URL(`${name}.json`, folder), 'utf8'),
  ]);
  const parsed = JSON.parse(header) as ImageHeader;
  if (parsed.protocol !== PROTOCOL_VERSION)
    throw new Error(`the sandbox image speaks version ${parsed.protocol}, not ${PROTOCOL_VERSION}; build again`);
  const shared = new Uint8Array(new SharedArrayBuffer(content.length));
  shared.set(content);
  return { header: parsed, content: shared };
}
