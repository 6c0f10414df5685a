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
