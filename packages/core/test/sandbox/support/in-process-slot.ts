import { BytecodeCompiler } from '#core/sandbox/quickjs/bytecode-compiler.js';
import { readFrame, readOutbox, type Outbox } from '#core/sandbox/quickjs/outbox.js';
import { ToolNames, type GuestTexts } from '#core/sandbox/quickjs/guest-texts.js';
import { Slot, type SlotCell, type SlotHost, type SlotSegment } from '#core/sandbox/quickjs/slot.js';
import { loadArtefacts, type Artefacts } from '#core/sandbox/worker/artefacts.js';
import { writeInit } from '#core/sandbox/worker/guest-messages.js';
import { asScript, TEST_LIMITS } from '#core/testing/drive-run.js';
import type { SandboxLimits } from '#core/protocol/index.js';

/** One sandbox in this thread. A test can read its memory and plant faults in it. */
export interface InProcessSlot {
  readonly slot: Slot;
  readonly limits: SandboxLimits;
  readonly texts: GuestTexts;
  compile(body: string): Uint8Array;
  start(bytecode: Uint8Array): SlotSegment;
  startWithin(bytecode: Uint8Array, wallMs: number): SlotSegment;
  /** Starts a script of a program that declares nothing and returns a long text. */
  startCell(cell: SlotCell): SlotSegment;
  /** The guest's message of a segment, checked by the rules. */
  read(segment: SlotSegment): Outbox;
}

const quietHost: SlotHost = { isCancelled: () => undefined, mustMakeRoom: () => false };
const WALL_MS = 60_000;

/** Compiling the engine takes longer than most scripts. */
let shared: Promise<Artefacts> | undefined;

export interface SlotFaults {
  host?: SlotHost;
  /** The limits in the guest, if they differ from the host's. */
  toldLimits?: Partial<SandboxLimits>;
}

export async function openSlot(
  changes: Partial<SandboxLimits> = {},
  { host = quietHost, toldLimits = {} }: SlotFaults = {},
): Promise<InProcessSlot> {
  const limits = { ...TEST_LIMITS, ...changes };
  const artefacts = await (shared ??= loadArtefacts(128));
  const compiler = new BytecodeCompiler(artefacts.module, artefacts.compile);
  const slot = new Slot(artefacts.module, artefacts.execute, host);
  const told = { runId: 'scr_test', spawn: false, seed: [1, 2, 3, 4], limits: { ...limits, ...toldLimits } } as const;
  const initText = writeInit(told);
  const texts = { tools: new ToolNames(['echo']), contextJson: '{}', positions: '' };
  const startWithin = (bytecode: Uint8Array, wallMs: number) =>
    slot.start({ bytecode, initText, texts, clockMs: 1, limits, sliceMs: WALL_MS }, wallMs);
  return {
    slot,
    limits,
    texts,
    compile(body) {
      const bytecode = compiler.compile(asScript(body));
      if (!(bytecode instanceof Uint8Array)) throw new Error(JSON.stringify(bytecode));
      return bytecode;
    },
    start: (bytecode) => startWithin(bytecode, WALL_MS),
    startWithin,
    startCell(cell) {
      const { number } = cell;
      const script = `(function (scope, declare) { declare({}); return async () => 'SECRET'.repeat(${number * 3_000}) })`;
      const bytecode = compiler.compile(script, number) as Uint8Array;
      const init = writeInit({ ...told, cell: { ...cell, number } as never });
      return slot.start({ bytecode, initText: init, texts, clockMs: 1, limits, sliceMs: WALL_MS, cell }, WALL_MS);
    },
    read(segment) {
      const { text, places } = readFrame(segment.text);
      return readOutbox(text, places.length, limits);
    },
  };
}
