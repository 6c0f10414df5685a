import { describe, expect, it } from 'vitest';
import { systemCallFilter } from '#tools/exec/sandbox/system-calls.js';

/*
 * The filter is read here as the kernel reads it, so that the laws hold for processors that this machine has not.
 */

const ALLOWED = 0x7fff0000;
const REFUSED = 0x00050000;
const ARCHITECTURES = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
type Processor = keyof typeof ARCHITECTURES;

interface Call {
  readonly number: number;
  readonly arguments?: readonly number[];
  readonly architecture?: number;
}

/** Runs the program on one call: its answer, 'allowed' or the error's number. */
function answerTo(filter: Buffer, call: Call, architecture: number): 'allowed' | number {
  const loaded = (offset: number): number => {
    if (offset === 0) return call.number;
    if (offset === 4) return call.architecture ?? architecture;
    return call.arguments?.[(offset - 16) / 8] ?? 0;
  };
  let value = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const [code, ifTrue, ifFalse] = [filter.readUInt16LE(at * 8), filter[at * 8 + 2]!, filter[at * 8 + 3]!];
    const operand = filter.readUInt32LE(at * 8 + 4);
    if (code === 0x20) value = loaded(operand);
    else if (code === 0x15) at += value === operand ? ifTrue : ifFalse;
    else if (code === 0x35) at += value >= operand ? ifTrue : ifFalse;
    else if (code === 0x45) at += (value & operand) !== 0 ? ifTrue : ifFalse;
    else if (operand === ALLOWED) return 'allowed';
    else return operand - REFUSED;
  }
  throw new Error('The filter has no end.');
}

const asked = (processor: Processor, call: Call, isRoot = false): 'allowed' | number =>
  answerTo(systemCallFilter(processor, isRoot)!, call, ARCHITECTURES[processor]);

const NUMBERS = {
  x64: {
    read: 0,
    open: 2,
    socket: 41,
    clone: 56,
    creat: 85,
    chmod: 90,
    fchmod: 91,
    mknod: 133,
    setxattr: 188,
    lsetxattr: 189,
    fsetxattr: 190,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    openat: 257,
    mknodat: 259,
    fchmodat: 268,
    unshare: 272,
    io_uring_setup: 425,
    clone3: 435,
    openat2: 437,
    fchmodat2: 452,
    setxattrat: 463,
  },
  arm64: {
    read: 63,
    socket: 198,
    clone: 220,
    fchmod: 52,
    setxattr: 5,
    lsetxattr: 6,
    fsetxattr: 7,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    openat: 56,
    mknodat: 33,
    fchmodat: 53,
    unshare: 97,
    io_uring_setup: 425,
    clone3: 435,
    openat2: 437,
    fchmodat2: 452,
    setxattrat: 463,
  },
} as const satisfies Record<Processor, Record<string, number>>;

/** Calls by name, on each processor that has them. */
function* callsOf(name: string): Generator<[Processor, number]> {
  for (const processor of ['x64', 'arm64'] as const) {
    const number = (NUMBERS[processor] as Record<string, number>)[name];
    if (number !== undefined) yield [processor, number];
  }
}

describe('the filter for system calls', () => {
  it.each([
    ['chmod', [0]],
    ['fchmod', [0]],
    ['fchmodat', [0, 0]],
    ['fchmodat2', [0, 0]],
    ['creat', [0]],
    ['mknod', [0]],
    ['mknodat', [0, 0]],
    ['open', [0, 0o101]],
    ['openat', [0, 0, 0o101]],
    ['openat', [0, 0, 0o20200001]],
  ])('lets %s set ordinary permissions, and no setuid or setgid bit', (name, before) => {
    for (const [processor, number] of callsOf(name)) {
      expect(asked(processor, { number, arguments: [...before, 0o755] })).toBe('allowed');
      for (const mode of [0o4755, 0o2755, 0o6000])
        expect(asked(processor, { number, arguments: [...before, mode] })).toBe(1);
    }
  });

  it('does not check the mode of a file that is only opened', () => {
    expect(asked('x64', { number: 2, arguments: [0, 0, 0o4755] })).toBe('allowed');
    expect(asked('arm64', { number: 56, arguments: [0, 0, 2, 0o4755] })).toBe('allowed');
  });

  it.each([
    ['openat2', 38],
    ['io_uring_setup', 38],
    ['clone3', 38],
    ['add_key', 1],
    ['request_key', 1],
    ['keyctl', 1],
  ])('always rejects %s', (name, error) => {
    for (const [processor, number] of callsOf(name)) expect(asked(processor, { number })).toBe(error);
  });

  it.each(['unshare', 'clone'])('lets %s create namespaces, except those of control groups', (name) => {
    for (const [processor, number] of callsOf(name)) {
      expect(asked(processor, { number, arguments: [0x10000000] })).toBe('allowed');
      expect(asked(processor, { number, arguments: [0x12000000] })).toBe(1);
    }
  });

  it('allows internet, local and netlink sockets, and no others', () => {
    for (const [processor, number] of callsOf('socket')) {
      for (const family of [1, 2, 10, 16]) expect(asked(processor, { number, arguments: [family] })).toBe('allowed');
      for (const family of [17, 31, 38, 40, 44]) expect(asked(processor, { number, arguments: [family] })).toBe(97);
    }
  });

  it.each(['setxattr', 'lsetxattr', 'fsetxattr', 'setxattrat'])('rejects %s only for root', (name) => {
    for (const [processor, number] of callsOf(name)) {
      expect(asked(processor, { number }, true)).toBe(95);
      expect(asked(processor, { number })).toBe('allowed');
    }
  });

  it('rejects every call of programs of another architecture', () => {
    expect(asked('x64', { number: 3, architecture: 0x40000003 })).toBe(38);
    expect(asked('arm64', { number: 3, architecture: 0x40000028 })).toBe(38);
    expect(asked('x64', { number: 0x40000000 + 90, arguments: [0, 0o755] })).toBe(38);
  });

  it('allows everything else, and does not exist for other processors', () => {
    for (const [processor, number] of callsOf('read')) expect(asked(processor, { number })).toBe('allowed');
    expect(systemCallFilter('riscv64', false)).toBeUndefined();
  });
});
