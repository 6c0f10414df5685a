/** The part of the WebAssembly JavaScript API that the engine's driver uses; Node's own types lack it. */
export interface WasmModule {
  readonly kind?: 'module' | undefined;
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface WasmApi {
  Module: { new (bytes: Uint8Array): WasmModule };
  Instance: {
    new (module: WasmModule, imports: Record<string, Record<string, unknown>>): { readonly exports: unknown };
  };
  compile(bytes: Uint8Array): Promise<WasmModule>;
  validate(bytes: Uint8Array): boolean;
}

export const WebAssemblyApi = (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;

export const WASM_PAGE = 65_536;
