import type { TypeChecker } from '../script/index.js';
import type { CheckPool, CheckPoolStats, TypeCheckerOptions } from '../script/type-checker/index.js';
import type { Tool } from '../protocol/index.js';
import { sha256 } from '../text/sha256.js';

type Described = Omit<TypeCheckerOptions, 'pool' | 'key'> & { readonly tools: readonly Tool[] };

/**
 * The type checker of one harness. It is loaded on first use, so a harness without type checks or scripts does not pay
 * for it.
 */
export class LazyChecker implements TypeChecker {
  readonly #describe: () => Described;
  #options: Omit<TypeCheckerOptions, 'pool'> | undefined;
  /** Set after the first check. */
  #checker: TypeChecker | undefined;
  #loading: Promise<TypeChecker> | undefined;
  #pool: CheckPool | undefined;
  #isClosed = false;

  /** `describe` is called once, when the first script is compiled. */
  constructor(describe: () => Described) {
    this.#describe = describe;
  }

  get key(): string {
    return this.#described().key;
  }

  check: TypeChecker['check'] = async (source) => (await this.#load()).check(source);

  judge: TypeChecker['judge'] = (answer, source, facts) => this.#checker!.judge(answer, source, facts);

  /** Loads it and starts its process. */
  warm: TypeChecker['warm'] = async () => (await this.#load()).warm();

  stats(): CheckPoolStats | undefined {
    return this.#pool?.stats();
  }

  close(): void {
    this.#isClosed = true;
    this.#pool?.close();
  }

  #described(): Omit<TypeCheckerOptions, 'pool'> {
    if (this.#options === undefined) {
      const { tools, ...described } = this.#describe();
      const key = `${described.mode}-${sha256(`${tools.map(identityOf).join()}\n${described.declarations}`)}`;
      this.#options = { ...described, key };
    }
    return this.#options;
  }

  #load(): Promise<TypeChecker> {
    this.#loading ??= this.#make();
    return this.#loading;
  }

  async #make(): Promise<TypeChecker> {
    const { CheckPool, createTypeChecker } = await import('../script/type-checker/index.js');
    const pool = new CheckPool();
    this.#pool = pool;
    if (this.#isClosed) pool.close();
    this.#checker = createTypeChecker({ pool, ...this.#described() });
    return this.#checker;
  }
}

const identities = new WeakMap<Tool, number>();
let lastIdentity = 0;

/** Validators cannot be compared: tools with equal declarations may reject different arguments. */
function identityOf(tool: Tool): number {
  const identity = identities.get(tool) ?? ++lastIdentity;
  identities.set(tool, identity);
  return identity;
}
