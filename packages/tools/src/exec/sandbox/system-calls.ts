/*
 * The system call filter of each sandboxed command on Linux, in the form that bubblewrap takes: a program for the
 * kernel's packet filter. A rejected call fails with an error number; the command continues.
 */

type Condition =
  /** The condition that at least one bit of the mask is set in the argument. */
  | { readonly argument: number; readonly mask: number }
  /** The condition that the argument has none of these values. */
  | { readonly argument: number; readonly except: readonly number[] };

interface Rule {
  /** The call's number for a processor; undefined if the processor does not have the call. */
  readonly x64?: number | undefined;
  readonly arm64?: number | undefined;
  /** If all of these conditions hold, the filter rejects the call. Without conditions, it always rejects the call. */
  readonly when?: readonly Condition[] | undefined;
  readonly error: number;
}

type Processor = 'x64' | 'arm64';

const EPERM = 1;
const ENOSYS = 38;
const ENOTSUP = 95;
const EAFNOSUPPORT = 97;

const SETUID_OR_SETGID = 0o6000;
const CREATES = 0o100 | 0o20000000;
const NEW_CGROUP_NAMESPACE = 0x02000000;
/**
 * The allowed socket families: local, IPv4, IPv6 and netlink. The filter of the sandbox's package rejects most local
 * sockets.
 */
const SOCKET_FAMILIES = [1, 2, 10, 16];

const newMode = (flags: number, mode: number): readonly Condition[] => [
  { argument: flags, mask: CREATES },
  { argument: mode, mask: SETUID_OR_SETGID },
];
const mode = (argument: number): readonly Condition[] => [{ argument, mask: SETUID_OR_SETGID }];
const cgroup: readonly Condition[] = [{ argument: 0, mask: NEW_CGROUP_NAMESPACE }];

const RULES: Readonly<Record<string, Rule>> = {
  // A setuid file would outlive the sandbox.
  // defence: no-setuid-by-chmod
  chmod: { x64: 90, when: mode(1), error: EPERM },
  // defence: no-setuid-by-fchmod
  fchmod: { x64: 91, arm64: 52, when: mode(1), error: EPERM },
  // defence: no-setuid-by-fchmodat
  fchmodat: { x64: 268, arm64: 53, when: mode(2), error: EPERM },
  // defence: no-setuid-by-fchmodat2
  fchmodat2: { x64: 452, arm64: 452, when: mode(2), error: EPERM },
  // defence: no-setuid-by-open
  open: { x64: 2, when: newMode(1, 2), error: EPERM },
  // defence: no-setuid-by-openat
  openat: { x64: 257, arm64: 56, when: newMode(2, 3), error: EPERM },
  // defence: no-setuid-by-creat
  creat: { x64: 85, when: mode(1), error: EPERM },
  // defence: no-setuid-by-mknod
  mknod: { x64: 133, when: mode(1), error: EPERM },
  // defence: no-setuid-by-mknodat
  mknodat: { x64: 259, arm64: 33, when: mode(2), error: EPERM },
  // A filter cannot inspect the arguments of these calls, which are in memory. Programs can use other calls.
  // defence: no-openat2
  openat2: { x64: 437, arm64: 437, error: ENOSYS },
  // defence: no-io-uring
  ioUringSetup: { x64: 425, arm64: 425, error: ENOSYS },
  // defence: no-clone3
  clone3: { x64: 435, arm64: 435, error: ENOSYS },
  // With its own control group namespace, a command could mount control groups, and freeze or kill the host process.
  // defence: no-cgroup-namespace-by-unshare
  unshare: { x64: 272, arm64: 97, when: cgroup, error: EPERM },
  // defence: no-cgroup-namespace-by-clone
  clone: { x64: 56, arm64: 220, when: cgroup, error: EPERM },
  // The kernel's keys belong to the user's session, so commands must not access them.
  // defence: no-add-key
  addKey: { x64: 248, arm64: 217, error: EPERM },
  // defence: no-request-key
  requestKey: { x64: 249, arm64: 218, error: EPERM },
  // defence: no-keyctl
  keyctl: { x64: 250, arm64: 219, error: EPERM },
  // Sockets of virtual machines (vsock), of Bluetooth and of similar families belong to no network namespace.
  // defence: no-other-socket-families
  socket: { x64: 41, arm64: 198, when: [{ argument: 0, except: SOCKET_FAMILIES }], error: EAFNOSUPPORT },
};

/** More rules for root: file capabilities are equivalent to a setuid bit. */
const RULES_AS_ROOT: Readonly<Record<string, Rule>> = {
  // defence: no-file-capabilities
  setxattr: { x64: 188, arm64: 5, error: ENOTSUP },
  // defence: no-file-capabilities-of-links
  lsetxattr: { x64: 189, arm64: 6, error: ENOTSUP },
  // defence: no-file-capabilities-by-descriptor
  fsetxattr: { x64: 190, arm64: 7, error: ENOTSUP },
  // defence: no-file-capabilities-at
  setxattrat: { x64: 463, arm64: 463, error: ENOTSUP },
};

/** The filter's bytes; undefined for an unknown processor, which then has no sandbox. */
export function systemCallFilter(processor: string, isRoot: boolean): Buffer | undefined {
  if (processor !== 'x64' && processor !== 'arm64') return undefined;
  const rules = Object.values(isRoot ? { ...RULES, ...RULES_AS_ROOT } : RULES);
  return Buffer.concat([...entry(processor), ...rules.flatMap((rule) => check(rule, processor)), answer(ALLOW)]);
}

const LOAD = 0x20;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ERROR = 0x00050000;
const CALL_NUMBER = 0;
const ARCHITECTURE = 4;
const ARCHITECTURES: Readonly<Record<Processor, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** The first call number of x32 programs. These programs have a second number for every call. */
const X32 = 0x40000000;

/**
 * The first instructions of the filter for one processor. They reject all calls of 32-bit programs, because the calls
 * of these programs have other numbers.
 */
function entry(processor: Processor): Buffer[] {
  // defence: no-32-bit-system-calls
  const other = answer(ERROR | ENOSYS);
  const own = [
    instruction(LOAD, ARCHITECTURE),
    instruction(EQUAL, ARCHITECTURES[processor], 1, 0),
    other,
    instruction(LOAD, CALL_NUMBER),
  ];
  // defence: no-x32-system-calls
  if (processor === 'x64') own.push(instruction(AT_LEAST, X32, 0, 1), answer(ERROR | ENOSYS));
  return own;
}

function check(rule: Rule, processor: Processor): Buffer[] {
  const number = rule[processor];
  if (number === undefined) return [];
  // If a condition does not hold, the filter jumps to the block's last instruction, which allows the call.
  const block = [answer(ERROR | rule.error), answer(ALLOW)];
  for (const condition of (rule.when ?? []).toReversed()) block.unshift(...test(condition, block.length - 1));
  return [instruction(EQUAL, number, 0, block.length), ...block];
}

/**
 * The instructions that test a condition. If the condition holds, the filter continues with the next instruction;
 * otherwise it skips `rest` instructions.
 */
function test(condition: Condition, rest: number): Buffer[] {
  const load = instruction(LOAD, 16 + 8 * condition.argument);
  if ('mask' in condition) return [load, instruction(ANY_BIT, condition.mask, 0, rest)];
  const { except } = condition;
  return [load, ...except.map((value, index) => instruction(EQUAL, value, except.length - 1 - index + rest, 0))];
}

function answer(value: number): Buffer {
  return instruction(RETURN, value);
}

function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
