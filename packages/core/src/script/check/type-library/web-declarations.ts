/**
 * The guest's own globals that no edition of the language has, according to their implementations in the sandbox's
 * guest. Parameters for text also accept numbers and booleans if the implementation converts them.
 */
export const WEB_DECLARATIONS = `
interface Console {
  assert(condition?: any, ...values: any[]): void;
  count(label?: any): void;
  countReset(label?: any): void;
  debug(...values: any[]): void;
  dir(value?: any, options?: any): void;
  error(...values: any[]): void;
  group(...values: any[]): void;
  groupCollapsed(...values: any[]): void;
  groupEnd(): void;
  info(...values: any[]): void;
  log(...values: any[]): void;
  table(data?: any, columns?: readonly string[]): void;
  time(label?: any): void;
  timeEnd(label?: any): void;
  timeLog(label?: any, ...values: any[]): void;
  trace(...values: any[]): void;
  warn(...values: any[]): void;
}
declare const console: Console;

declare function setTimeout(callback: (...values: any[]) => any, ms?: number, ...values: any[]): number;
declare function setInterval(callback: (...values: any[]) => any, ms?: number, ...values: any[]): number;
declare function clearTimeout(timer?: number | null): void;
declare function clearInterval(timer?: number | null): void;

interface Performance {
  readonly timeOrigin: number;
  now(): number;
  toJSON(): any;
}
declare const performance: Performance;

declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T = any>(value: T, options?: { transfer?: readonly any[] }): T;
declare function atob(data: string): string;
declare function btoa(data: string): string;

interface DOMException extends Error {
  readonly code: number;
  readonly message: string;
  readonly name: string;
}
interface DOMExceptionConstructor {
  new (message?: string, name?: string): DOMException;
  readonly prototype: DOMException;
}
declare const DOMException: DOMExceptionConstructor;

interface TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, destination: Uint8Array): { read: number; written: number };
}
interface TextEncoderConstructor {
  new (): TextEncoder;
  readonly prototype: TextEncoder;
}
declare const TextEncoder: TextEncoderConstructor;

interface TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
interface TextDecoderConstructor {
  new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder;
  readonly prototype: TextDecoder;
}
declare const TextDecoder: TextDecoderConstructor;

type BufferEncoding =
  | 'ascii' | 'utf8' | 'utf-8' | 'utf16le' | 'utf-16le' | 'ucs2' | 'ucs-2' | 'base64' | 'base64url' | 'latin1'
  | 'binary' | 'hex';
interface Buffer extends Uint8Array<ArrayBuffer> {
  compare(other: Uint8Array): number;
  equals(other: Uint8Array): boolean;
  slice(start?: number, end?: number): Buffer;
  subarray(start?: number, end?: number): Buffer;
  toJSON(): { type: 'Buffer'; data: number[] };
  toString(encoding?: string, start?: number, end?: number): string;
  write(text: string, offset?: number | BufferEncoding, length?: number | BufferEncoding, encoding?: string): number;
}
interface BufferConstructor {
  new (size: number): Buffer;
  readonly prototype: Buffer;
  readonly BYTES_PER_ELEMENT: number;
  readonly [Symbol.species]: BufferConstructor;
  fromBase64(text: string, options?: any): Uint8Array<ArrayBuffer>;
  fromHex(text: string): Uint8Array<ArrayBuffer>;
  of(...items: number[]): Buffer;
  alloc(size: number, fill?: string | number, encoding?: string): Buffer;
  byteLength(value: string | ArrayBuffer | ArrayBufferView, encoding?: string): number;
  compare(left: Uint8Array, right: Uint8Array): number;
  concat(list: readonly Uint8Array[], totalLength?: number): Buffer;
  from(text: string, encoding?: string): Buffer;
  from(bytes: ArrayBuffer | ArrayBufferView | readonly number[] | { readonly data: readonly number[] }, offset?: number, length?: number): Buffer;
  isBuffer(value: any): value is Buffer;
  isEncoding(name: any): name is BufferEncoding;
}
declare const Buffer: BufferConstructor;

interface SubtleCrypto {
  digest(algorithm: string | { name: string }, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
  readonly [Symbol.toStringTag]: string;
}
interface Crypto {
  readonly subtle: SubtleCrypto;
  getRandomValues<T extends ArrayBufferView>(target: T): T;
  randomUUID(): string;
  readonly [Symbol.toStringTag]: string;
}
declare const crypto: Crypto;

interface Headers {
  append(name: string, value: URLSearchParamsValue): void;
  delete(name: string): void;
  entries(): IterableIterator<[string, string]>;
  forEach(callback: (value: string, name: string, all: Headers) => void, thisArg?: any): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  keys(): IterableIterator<string>;
  set(name: string, value: URLSearchParamsValue): void;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  readonly [Symbol.toStringTag]: string;
}
interface HeadersConstructor {
  new (init?: Headers | Iterable<readonly [string, string]> | Readonly<Record<string, any>> | null): Headers;
  readonly prototype: Headers;
}
declare const Headers: HeadersConstructor;

interface AbortSignal {
  readonly aborted: boolean;
  onabort: ((event: any) => any) | null;
  readonly reason: any;
  addEventListener(type: 'abort', listener: ((event: any) => any) | null, options?: any): void;
  removeEventListener(type: 'abort', listener: (event: any) => any): void;
  throwIfAborted(): void;
  readonly [Symbol.toStringTag]: string;
}
interface AbortSignalConstructor {
  readonly prototype: AbortSignal;
  abort(reason?: any): AbortSignal;
  any(signals: Iterable<AbortSignal>): AbortSignal;
  timeout(ms: number): AbortSignal;
}
declare const AbortSignal: AbortSignalConstructor;
interface AbortController {
  readonly signal: AbortSignal;
  abort(reason?: any): void;
  readonly [Symbol.toStringTag]: string;
}
interface AbortControllerConstructor {
  new (): AbortController;
  readonly prototype: AbortController;
}
declare const AbortController: AbortControllerConstructor;

interface URL {
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toJSON(): string;
  toString(): string;
  readonly [Symbol.toStringTag]: string;
}
interface URLConstructor {
  new (address: string | URL, base?: string | URL): URL;
  readonly prototype: URL;
  canParse(address: string | URL, base?: string | URL): boolean;
  parse(address: string | URL, base?: string | URL): URL | null;
}
declare const URL: URLConstructor;

type URLSearchParamsValue = string | number | bigint | boolean;
interface URLSearchParams {
  readonly size: number;
  append(name: string, value: URLSearchParamsValue): void;
  delete(name: string, value?: URLSearchParamsValue): void;
  entries(): IterableIterator<[string, string]>;
  forEach(callback: (value: string, name: string, all: URLSearchParams) => void, thisArg?: any): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: URLSearchParamsValue): boolean;
  keys(): IterableIterator<string>;
  set(name: string, value: URLSearchParamsValue): void;
  sort(): void;
  toString(): string;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  readonly [Symbol.toStringTag]: string;
}
interface URLSearchParamsConstructor {
  new (init?: string | URLSearchParams | Iterable<readonly [string, URLSearchParamsValue]> | readonly URLSearchParamsValue[][] | Record<string, any>): URLSearchParams;
  readonly prototype: URLSearchParams;
}
declare const URLSearchParams: URLSearchParamsConstructor;
`;
