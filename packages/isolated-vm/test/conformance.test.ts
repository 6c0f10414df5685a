import { afterAll, beforeAll, describe, it } from 'vitest';
import type { SandboxRuntime } from '@toolscript/core/ports';
import { runtimeConformance } from '@toolscript/core/testing';
import { ISOLATED_VM_LACKS } from '#isolated-vm/pool.js';
import { isolatedVm } from '@toolscript/isolated-vm';
import { isolatedVmPath, whyNoIsolatedVm } from './support/installed.js';

describe.skipIf(whyNoIsolatedVm !== undefined)('the isolated-vm runtime', () => {
  let runtime: SandboxRuntime;
  beforeAll(async () => {
    runtime = isolatedVm({ modulePath: isolatedVmPath! });
    await runtime.warm();
  });
  afterAll(() => runtime.close());

  const applies = runtimeConformance.filter(({ needs }) => needs === undefined || !ISOLATED_VM_LACKS.includes(needs));
  it.each(applies.map((law) => [law.name, law] as const))('%s', (_name, law) => law.check(runtime));
});
