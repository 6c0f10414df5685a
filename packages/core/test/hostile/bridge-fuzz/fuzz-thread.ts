// A sandbox thread whose engines run out of memory or stack if a script's context requests it.
import { once } from 'node:events';
import { parentPort } from 'node:worker_threads';
import type { EngineHost, EngineValue } from '#core/sandbox/quickjs/driver.js';
import type { Image } from '#core/sandbox/quickjs/image.js';
import { Slot } from '#core/sandbox/quickjs/slot.js';
import type { WasmModule } from '#core/sandbox/quickjs/webassembly.js';
import type { WorkerBirth, WorkerReport } from '#core/sandbox/worker/messages.js';
import { SandboxThread } from '#core/sandbox/worker/sandbox-thread.js';
import { FaultyEngine } from './faulty-engine.js';
import { findRecord } from './script-record.js';
import { ThreadMemory, type ThreadPlan } from './thread-memory.js';

const shared = ThreadMemory.shared();
const port = parentPort!;

class WatchedEngine extends FaultyEngine {
  readonly #image: Image;
  readonly #host: EngineHost;
  #isWatched = false;

  constructor(module: WasmModule, host: EngineHost, image: Image) {
    super(module, host, image);
    this.#image = image;
    this.#host = host;
  }

  override callWithText(callee: EngineValue, text: string): void {
    if (callee === this.#image.header.entries.begin) this.#begin();
    super.callWithText(callee, text);
  }

  override callForText(callee: EngineValue, argument?: EngineValue): string {
    if (!this.#isWatched) return super.callForText(callee, argument);
    shared.beginMessage();
    const text = super.callForText(callee, argument);
    if (this.takeRunOut()) shared.noteRanOut();
    shared.endMessage(findRecord(this.memory(), this.#image.header.start));
    return text;
  }

  #begin(): void {
    const context = JSON.parse(this.#host.asked!('context')) as { fuzz?: ThreadPlan };
    this.#isWatched = context.fuzz !== undefined;
    const { faults = [], memory = 0, stack = 0 } = context.fuzz ?? {};
    this.plan(faults, memory, stack);
    if (!this.#isWatched) return;
    shared.clear();
    plantAtStart();
  }
}

function plantAtStart(): void {
  if (shared.fault === 'ends itself') process.exit(7);
}

function plantInThread(): void {
  if (shared.fault === 'skips cleaning') Slot.prototype.recycle = () => true;
  if (shared.fault === 'changes arguments') changeReports((text) => text.replace('"check":1', '"check":2'));
  if (shared.fault === 'repeats messages') repeatReports();
}

const post = port.postMessage.bind(port);

function changeReports(change: (text: string) => string): void {
  port.postMessage = (message: unknown) => {
    if (Array.isArray(message)) for (const report of message as WorkerReport[]) report[2] = change(report[2]);
    post(message);
  };
}

function repeatReports(): void {
  port.postMessage = (message: unknown) => {
    post(message);
    if (Array.isArray(message)) post(message);
  };
}

plantInThread();
const [birth] = (await once(port, 'message')) as [WorkerBirth];
new SandboxThread(port, birth, (module, host) => new WatchedEngine(module, host, birth.execute)).serve();
