import { describe } from 'vitest';
import { isolatedVm } from '@toolscript/isolated-vm';
import { isolatedVmPath, whyNoIsolatedVm } from './support/installed.js';
import { hostileLaws } from '../../core/test/hostile/hostile-laws.js';

const memoryOrTime = ['ScriptMemoryError', 'ScriptTimeoutError'];

/** V8 is slower to run out of memory, has other depths, and lacks `transfer` in older releases. */
const ENDS = {
  'many short sleeps': ['ToolBudgetExceededError', 'ScriptTimeoutError'],
  'an array that grows': memoryOrTime,
  'fill of a huge array': memoryOrTime,
  'errors with long stacks': memoryOrTime,
  'caught and tried again': memoryOrTime,
  split: memoryOrTime,
  'recursion by JSON.parse': ['completed'],
  'a regular expression nested deeply': ['ScriptTimeoutError', 'ScriptRuntimeError'],
  'a detached buffer written': ['completed'],
  'prototype chain': ['completed', ...memoryOrTime],
};

describe.skipIf(whyNoIsolatedVm !== undefined)('hostile scripts on isolated-vm', () => {
  hostileLaws(() => isolatedVm({ modulePath: isolatedVmPath! }), ENDS);
});
