import { afterAll, beforeAll, describe, it } from 'vitest';
import { IsolatedVmPool } from '#core/sandbox/index.js';
import { ISOLATED_VM_LACKS } from '#core/sandbox/isolated-vm/pool.js';
import { runtimeConformance } from '#core/testing/index.js';
import { isolatedVmPath, whyNoIsolatedVm } from './support/isolated-vm.js';

describe.skipIf(whyNoIsolatedVm !== undefined)('the isolated-vm runtime', () => {
  let runtime: IsolatedVmPool;
  beforeAll(async () => {
    runtime = new IsolatedVmPool({ modulePath: isolatedVmPath! });
    await runtime.warm();
  });
  afterAll(() => runtime.close());

  const applies = runtimeConformance.filter(({ needs }) => needs === undefined || !ISOLATED_VM_LACKS.includes(needs));
  it.each(applies.map((law) => [law.name, law] as const))('%s', (_name, law) => law.check(runtime));
});
