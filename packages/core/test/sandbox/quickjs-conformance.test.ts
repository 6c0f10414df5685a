import { afterAll, beforeAll, describe, it } from 'vitest';
import { QuickJsPool } from '#core/sandbox/index.js';
import { runtimeConformance } from '#core/testing/index.js';

describe('the QuickJS runtime', () => {
  let runtime: QuickJsPool;
  beforeAll(async () => {
    runtime = new QuickJsPool();
    await runtime.warm();
  });
  afterAll(() => runtime.close());

  it.each(runtimeConformance.map((law) => [law.name, law] as const))('%s', (_name, law) => law.check(runtime));
});
