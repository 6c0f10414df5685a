import type { TypeChecker } from '../script/index.js';
import type { CheckPool, CheckPoolStats, TypeCheckerOptions } from '../script/type-checker/index.js';

/**
 * The type checker of one harness. Nothing of it is loaded before it is needed: a harness without type
 * checks, or without scripts, pays nothing for it.
 */
export class LazyChecker {
  readonly #describe: () => Omit<TypeCheckerOptions, 'pool'>;
  #loading: Promise<TypeChecker> | undefined;
  #pool: CheckPool | undefined;
  #isClosed = false;

  /** `describe` is called once, when the checker is loaded. */
  constructor(describe: () => Omit<TypeCheckerOptions, 'pool'>) {
    this.#describe = describe;
  }

  load(): Promise<TypeChecker> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Loads it and starts its process. */
  async warm(): Promise<void> {
    const checker = await this.load();
    await checker.warm();
  }

  stats(): CheckPoolStats | undefined {
    return this.#pool?.stats();
  }

  close(): void {
    this.#isClosed = true;
    this.#pool?.close();
  }

  async #load(): Promise<TypeChecker> {
    const { CheckPool, createTypeChecker } = await import('../script/type-checker/index.js');
    const pool = new CheckPool();
    this.#pool = pool;
    if (this.#isClosed) pool.close();
    return createTypeChecker({ pool, ...this.#describe() });
  }
}
