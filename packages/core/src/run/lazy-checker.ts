import type { TypeChecker } from '../script/index.js';
import type * as typeChecking from '../script/check/index.js';
import type { CheckPool, CheckPoolStats, ObservedTools, TypeCheckerOptions } from '../script/check/index.js';
import type { Tool } from '../protocol/index.js';
import { sha256 } from '../text/crypto.js';

type CheckerModule = typeof typeChecking;

type CheckerDescription = Omit<TypeCheckerOptions, 'pool' | 'key'> & { readonly tools: readonly Tool[] };

/**
 * The checker processes of one harness, which check scripts against every set of tools that the harness has. The pool
 * loads nothing before the first check, so it costs nothing without type checks or scripts.
 */
export class LazyCheckPool {
  #pool: CheckPool | undefined;
  #loading: Promise<{ pool: CheckPool; module: CheckerModule }> | undefined;
  #isClosed = false;
  readonly #onUnavailable: (detail: string) => void;

  /** `onUnavailable` is called for each script that runs unchecked because there is no checker. */
  constructor(onUnavailable: (detail: string) => void) {
    this.#onUnavailable = onUnavailable;
  }

  load(): Promise<{ pool: CheckPool; module: CheckerModule }> {
    this.#loading ??= this.#make();
    return this.#loading;
  }

  stats(): CheckPoolStats | undefined {
    return this.#pool?.stats();
  }

  close(): void {
    this.#isClosed = true;
    this.#pool?.close();
  }

  async #make(): Promise<{ pool: CheckPool; module: CheckerModule }> {
    const module = await import('../script/check/index.js');
    const pool = new module.CheckPool({ onUnavailable: this.#onUnavailable });
    this.#pool = pool;
    if (this.#isClosed) pool.close();
    return { pool, module };
  }
}

/** The type checker for one set of tools. */
export class LazyChecker implements TypeChecker {
  readonly #pool: LazyCheckPool;
  readonly #describe: () => CheckerDescription;
  #options: Omit<TypeCheckerOptions, 'pool'> | undefined;
  /** Undefined until the checker is loaded. */
  #checker: TypeChecker | undefined;
  #loading: Promise<TypeChecker> | undefined;

  /** `describe` is called once, at the first use. */
  constructor(pool: LazyCheckPool, describe: () => CheckerDescription) {
    this.#pool = pool;
    this.#describe = describe;
  }

  get key(): string {
    return this.#describedOptions().key;
  }

  check: TypeChecker['check'] = async (...given) => (await this.#load()).check(...given);

  judge: TypeChecker['judge'] = (...given) => this.#checker!.judge(...given);

  printTypes: TypeChecker['printTypes'] = async (...given) => (await this.#load()).printTypes(...given);

  /** Loads the checker and starts its process. */
  warm: TypeChecker['warm'] = async () => (await this.#load()).warm();

  /** This checker, which also warns a script that disagrees with the observed types of results. */
  observing(observed: ObservedTools | undefined): TypeChecker {
    if (observed === undefined) return this;
    return {
      key: `${this.key}-${sha256(observed.type)}`,
      check: (source, turn, kept) => this.check(source, turn, kept, observed),
      judge: (answer, source, facts, kept) => this.judge(answer, source, facts, kept, observed),
      printTypes: this.printTypes,
      warm: this.warm,
    };
  }

  #describedOptions(): Omit<TypeCheckerOptions, 'pool'> {
    if (this.#options === undefined) {
      const { tools, ...described } = this.#describe();
      const key = `${described.mode}-${sha256(`${tools.map(toolIdentity).join()}\n${described.declarations}`)}`;
      this.#options = { ...described, key };
    }
    return this.#options;
  }

  #load(): Promise<TypeChecker> {
    this.#loading ??= this.#make();
    return this.#loading;
  }

  async #make(): Promise<TypeChecker> {
    const { pool, module } = await this.#pool.load();
    this.#checker = module.createTypeChecker({ pool, ...this.#describedOptions() });
    return this.#checker;
  }
}

const identities = new WeakMap<Tool, number>();
let lastIdentity = 0;

/**
 * Returns a number that identifies a tool. Validators cannot be compared: tools with equal declarations may reject
 * different arguments.
 */
function toolIdentity(tool: Tool): number {
  const identity = identities.get(tool) ?? ++lastIdentity;
  identities.set(tool, identity);
  return identity;
}
