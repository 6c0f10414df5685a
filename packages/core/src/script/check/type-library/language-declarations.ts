/**
 * Built-ins of the engine from proposals that TypeScript does not declare yet, and legacy built-ins that scripts still
 * use. TypeScript's own files declare `IteratorObjectConstructor` as a class. Here, the name is only a type, so it adds
 * no global.
 */
export const LANGUAGE_DECLARATIONS = `
interface ArrayBuffer {
  readonly immutable: boolean;
  sliceToImmutable(start?: number, end?: number): ArrayBuffer;
  transferToImmutable(newByteLength?: number): ArrayBuffer;
}

interface Date {
  getYear(): number;
  setYear(year: number): number;
  toGMTString(): string;
}

interface ErrorConstructor {
  captureStackTrace(target: object, below?: Function): void;
  stackTraceLimit: number;
}

type IteratorObjectConstructor = abstract new <T, TResult = undefined, TNext = unknown>() => IteratorObject<T, TResult, TNext>;
interface IteratorConstructor {
  readonly prototype: IteratorObject<any, any, any>;
  concat<T>(...parts: Iterable<T>[]): IteratorObject<T, undefined, unknown>;
  zip<T extends readonly Iterable<any>[] | []>(lists: T, options?: IteratorZipOptions): IteratorObject<{ -readonly [K in keyof T]: T[K] extends Iterable<infer Each> ? Each : never }, undefined, unknown>;
  zip<T>(lists: Iterable<Iterable<T>>, options?: IteratorZipOptions): IteratorObject<T[], undefined, unknown>;
  zipKeyed<T extends Record<PropertyKey, Iterable<any>>>(lists: T, options?: IteratorZipOptions): IteratorObject<{ -readonly [K in keyof T]: T[K] extends Iterable<infer Each> ? Each : never }, undefined, unknown>;
}
interface IteratorZipOptions {
  mode?: 'shortest' | 'longest' | 'strict';
  padding?: any;
}
interface IteratorObject<T, TReturn, TNext> {
  chunks(size: number): IteratorObject<T[], undefined, unknown>;
  includes(value: T, skipped?: number): boolean;
  join(separator?: string): string;
  windows(size: number, undersized?: 'only-full' | 'allow-partial'): IteratorObject<T[], undefined, unknown>;
}

interface PromiseFulfilledResult<T> {
  reason?: undefined;
}
interface PromiseRejectedResult {
  value?: undefined;
}

interface RawJSON {
  readonly rawJSON: string;
}
interface JSON {
  isRawJSON(value: unknown): value is RawJSON;
  rawJSON(text: string | number | bigint | boolean | null): RawJSON;
}

interface Math {
  sumPrecise(numbers: Iterable<number>): number;
}
`;
