/** The part of the package isolated-vm that is used. The package is optional, so its own types are not. */
export interface IsolatedVm {
  readonly Isolate: new (options: { memoryLimit: number; onCatastrophicError?: () => void }) => Isolate;
}

export interface Isolate {
  readonly cpuTime: bigint;
  readonly isDisposed: boolean;
  createContext(): Promise<Context>;
  compileScript(code: string, options: { filename: string }): Promise<Script>;
  getHeapStatisticsSync(): { used_heap_size: number; externally_allocated_size: number };
  /** Stops the isolate's code, also in a loop. */
  dispose(): void;
}

export interface Context {
  eval(code: string, options: { filename: string; reference: true }): Promise<Reference>;
}

interface Script {
  run(context: Context, options: { reference: true }): Promise<Reference>;
}

export interface Reference {
  get(name: string, options: { reference: true }): Promise<Reference>;
  apply(receiver: undefined, values: readonly unknown[], options?: { result: { reference: true } }): Promise<unknown>;
  derefInto(): unknown;
}
