import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';

/**
 * A process of the native compiler. Only this file uses the compiler's unstable programming interface (TypeScript
 * 7.0.2, `tsc --api --async`): its methods, its file callbacks, its snapshot names. The package's own client is not
 * used, because this client takes 60 ms to load and passes the environment of the host's process to the compiler.
 *
 * The compiler sees virtual files only. Every callback answers, so the compiler never reads the disk.
 */
export class CheckerProcess {
  readonly #child: ChildProcess;
  readonly #rpc: JsonRpc;
  readonly #files = new Map<string, string>();
  readonly #projects = new Set<string>();
  readonly #onGone: () => void;
  #snapshot: number | undefined;
  #isGone = false;

  /**
   * Starts the process. `onGone` is called once, when the process is killed or has ended for any other reason. Throws
   * if the system cannot start a process.
   */
  constructor(executable: string, library: string, onGone: () => void) {
    this.#onGone = onGone;
    this.#files.set(LIBRARY, library);
    this.#child = spawn(executable, ['--api', '--async', '--cwd', ROOT, `--callbacks=${CALLBACKS.join(',')}`], {
      stdio: ['pipe', 'pipe', 'ignore'],
      cwd: ROOT,
      // defence: checker-has-no-environment
      env: GARBAGE_COLLECTION,
      windowsHide: true,
    });
    // If no file descriptors are free, the pipes are missing, and Node emits the error later.
    // defence: checker-start-errors
    this.#child.on('error', (error) => this.#markGone(error));
    const { stdin, stdout } = this.#child;
    if (stdin === null || stdin === undefined || stdout === null || stdout === undefined) {
      this.#isGone = true;
      throw new Error('The system has reached its limit of processes or open files. Raise that limit.');
    }
    this.#rpc = new JsonRpc(stdout, stdin, (method, parameter) => this.#serve(method, parameter));
    this.#child.once('exit', (status, signal) =>
      this.#markGone(new Error(`The type checker ended with ${signal ?? status}.`)),
    );
    this.hold(false);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Sets whether the child keeps the host's process alive. The child must do so only while a caller waits for the
   * child.
   */
  hold(isHeld: boolean): void {
    const { stdin, stdout } = this.#child;
    // Bun's pipes have neither `ref` nor `unref`.
    for (const handle of [this.#child, stdin, stdout] as { ref?(): void; unref?(): void }[]) {
      if (isHeld) handle.ref?.();
      else handle.unref?.();
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    this.#markGone(new Error('The type checker was terminated.'));
  }

  /** Loads a set of declarations under a name. Rejects if the process ends. */
  async open(project: string, declarations: string): Promise<void> {
    if (this.#projects.size === 0) await this.#rpc.request('initialize', null);
    const folder = projectFolder(project);
    this.#projects.add(project);
    this.#files.set(`${folder}/tsconfig.json`, CONFIGURATION);
    this.#files.set(`${folder}/tools.d.ts`, declarations);
    this.#files.set(`${folder}/script.ts`, '');
    await this.#update({ openProjects: [`${folder}/tsconfig.json`] });
    await this.check(project, WARM_UP);
  }

  isOpen(project: string): boolean {
    return this.#projects.has(project);
  }

  async close(project: string): Promise<void> {
    const folder = projectFolder(project);
    this.#projects.delete(project);
    await this.#update({ closeProjects: [`${folder}/tsconfig.json`] });
    for (const name of this.#files.keys()) if (name.startsWith(`${folder}/`)) this.#files.delete(name);
  }

  /**
   * The diagnostics of a text in an open project; positions are UTF-16 offsets in this text. Only one check may run at
   * a time.
   */
  async check(project: string, text: string): Promise<readonly NativeDiagnostic[]> {
    const where = await this.#replaceScript(project, text);
    const diagnostics = await this.#rpc.request<NativeDiagnostic[] | null>('getSemanticDiagnostics', where);
    return diagnostics ?? [];
  }

  /** The types at places of a text in an open project; undefined for a place without a type. */
  async printTypes(
    project: string,
    text: string,
    places: readonly TypePlace[],
  ): Promise<readonly (string | undefined)[]> {
    const where = await this.#replaceScript(project, text);
    const positions = places.flatMap(({ atUse, atDeclaration }) => [atUse, atDeclaration]);
    const found = await this.#rpc.request<({ id: number } | null)[]>('getTypesAtPositions', { ...where, positions });
    const printed = await Promise.all(
      found.map(async (type) =>
        type === null
          ? undefined
          : this.#rpc.request<string>('typeToString', { ...where, type: type.id, flags: NO_TRUNCATION }),
      ),
    );
    return places.map(({ isConstant }, index) => {
      const [atUse, atDeclaration] = printed.slice(index * 2);
      // A script may have narrowed the type of a variable, and a later script may assign any value of its whole type.
      return isConstant || isIncomplete(atDeclaration) ? atUse : atDeclaration;
    });
  }

  async #replaceScript(project: string, text: string) {
    const folder = projectFolder(project);
    const file = `${folder}/script.ts`;
    this.#files.set(file, text);
    const snapshot = await this.#update({ fileChanges: { changed: [file] } });
    return { snapshot, project: `${folder}/tsconfig.json`, file };
  }

  /** Processor time of the process so far, in ms; undefined if the platform does not report it. */
  cpuMs(): number | undefined {
    if (process.platform !== 'linux' || this.#child.pid === undefined) return undefined;
    try {
      const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * MS_PER_TICK;
    } catch {
      return undefined;
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async #update(change: object): Promise<number> {
    const { snapshot } = await this.#rpc.request<{ snapshot: number }>('updateSnapshot', change);
    const before = this.#snapshot;
    this.#snapshot = snapshot;
    // No caller waits for this request. If it fails, the process has ended, and `onGone` reports that.
    if (before !== undefined) this.#rpc.request('release', { snapshot: before }).catch(() => {});
    return snapshot;
  }

  /** Answers the compiler's file system requests. */
  #serve(method: string, parameter: unknown): unknown {
    const path = String(parameter);
    switch (method) {
      case 'readFile':
        return { content: this.#files.get(path) ?? null };
      case 'fileExists':
        return this.#files.has(path);
      case 'directoryExists':
        return path === ROOT || this.#projects.has(path.slice(1));
      case 'getAccessibleEntries':
        return { files: [], directories: [] };
      case 'realpath':
        return path;
      default:
        return null;
    }
  }

  #markGone(reason: Error): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#rpc.fail(reason);
    this.#onGone();
  }
}

/** The places of a variable's name, as UTF-16 offsets. */
export interface TypePlace {
  readonly atUse: number;
  readonly atDeclaration: number;
  readonly isConstant: boolean;
}

/** A flag of `typeToString`: long types are printed in full. */
const NO_TRUNCATION = 1;

/** Whether only the uses of a variable show its type, as of a variable without a value and of an empty list. */
function isIncomplete(type: string | undefined): boolean {
  return type === undefined || type === 'any' || type === 'any[]';
}

/** A diagnostic as the compiler reports it; see `Diagnostic` in `typescript/unstable/async`. */
export interface NativeDiagnostic {
  /** TypeScript's error number, such as 2345 for ts2345. */
  readonly code: number;
  /** UTF-16 offsets in the checked text. */
  readonly pos: number;
  readonly end: number;
  readonly text: string;
  readonly messageChain?: readonly NativeDiagnostic[] | undefined;
}

const ROOT = '/';
const LIBRARY = '/guest.lib.d.ts';
const CALLBACKS = ['readFile', 'fileExists', 'directoryExists', 'getAccessibleEntries', 'realpath'];
/**
 * Settings of the Go runtime. The runtime collects garbage when its heap has grown fourfold, which halves the time of a
 * check. Only many large sets of tools need more than 128 MiB; the runtime then collects more often.
 */
const GARBAGE_COLLECTION = { GOGC: '300', GOMEMLIMIT: '128MiB' };
const MS_PER_TICK = 10;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
const WARM_UP = 'export {};\n';

const CONFIGURATION = JSON.stringify({
  compilerOptions: {
    target: 'es2024',
    module: 'esnext',
    noLib: true,
    types: [],
    noEmit: true,
    noResolve: true,
    strict: false,
    strictNullChecks: true,
    // The policy filters the diagnostics of this option. Without the option, TypeScript does not infer the types of
    // empty arrays and of variables without a value.
    noImplicitAny: true,
    useUnknownInCatchVariables: false,
  },
  files: [LIBRARY, 'tools.d.ts', 'script.ts'],
});

function projectFolder(project: string): string {
  return `${ROOT}${project}`;
}

/**
 * JSON-RPC 2.0 in frames of `Content-Length`, as language servers use it. Both sides may send requests; this side
 * answers the other side's requests at once.
 */
export class JsonRpc {
  readonly #output: Writable;
  readonly #answer: (method: string, parameter: unknown) => unknown;
  readonly #frames = new FrameReader();
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #failure: Error | undefined;
  #isGathering = false;

  constructor(input: Readable, output: Writable, answer: (method: string, parameter: unknown) => unknown) {
    this.#output = output;
    this.#answer = answer;
    input.on('data', (chunk: Buffer) => this.#receive(chunk));
    // A broken pipe is not reported here, because the end of the process is reported.
    input.on('error', () => {});
    output.on('error', () => {});
  }

  /** Sends a request. Rejects if the other side answers with an error, or is gone. */
  request<Result>(method: string, parameters: unknown): Promise<Result> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params: parameters });
    }) as Promise<Result>;
  }

  /** Rejects all pending and future requests, because the other side is gone or violates the protocol. */
  fail(error: Error): void {
    this.#failure ??= error;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(this.#failure);
  }

  #receive(chunk: Buffer): void {
    try {
      for (const text of this.#frames.read(chunk)) this.#take(JSON.parse(text) as Message);
    } catch (error) {
      this.fail(new Error(`The type checker violates JSON-RPC: ${String(error)}.`));
    }
  }

  #take(message: Message): void {
    if (message.method !== undefined) {
      const result = this.#answer(message.method, message.params) ?? null;
      if (message.id !== undefined) this.#send({ id: message.id, result });
      return;
    }
    const waiting = this.#waiting.get(message.id as number);
    this.#waiting.delete(message.id as number);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(new Error(message.error.message));
  }

  /**
   * Sends a message. All messages of one turn of the event loop are written at once, because each write wakes the other
   * process, which costs more than the rest of the work.
   */
  #send(message: object): void {
    if (!this.#isGathering) {
      this.#isGathering = true;
      this.#output.cork();
      process.nextTick(() => {
        this.#isGathering = false;
        this.#output.uncork();
      });
    }
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#output.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

interface Message {
  id?: number | string | undefined;
  method?: string | undefined;
  params?: unknown;
  result?: unknown;
  error?: { message: string } | undefined;
}

const HEAD_END = '\r\n\r\n';

/** Splits a stream of bytes into the bodies of its frames. */
class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Iterable<string> {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const headEnd = this.#bytes.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const length = /^content-length: *(\d+)/imu.exec(this.#bytes.toString('latin1', 0, headEnd))?.[1];
      if (length === undefined) throw new Error('a frame has no length');
      const start = headEnd + HEAD_END.length;
      const end = start + Number(length);
      if (this.#bytes.length < end) return;
      yield this.#bytes.toString('utf8', start, end);
      this.#bytes = this.#bytes.subarray(end);
    }
  }
}
