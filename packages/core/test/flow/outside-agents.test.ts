import { expect, it } from 'vitest';
import { EVIL_ACCOUNT, USER_ACCOUNT, openWorld } from './support.js';

const READ = `return await tools.readPage({ url: 'https://shop.example/invoice' });`;
const pay = (to: string) => `await tools.transfer({ to: '${to}', amount: 1 }); return 'paid';`;

it('a tool made of a harness remembers that its scripts have returned untrusted text', async () => {
  const { harness, world } = openWorld();
  const tool = harness.asTool();
  await tool.execute({ code: pay(USER_ACCOUNT) });
  expect(world.transfers).toHaveLength(1);
  await tool.execute({ code: READ });
  expect(await tool.execute({ code: pay(EVIL_ACCOUNT) })).toContain('Script suspended');
  expect(world.transfers).toHaveLength(1);
});

it('another tool made of the same harness has read nothing', async () => {
  const { harness, world } = openWorld();
  await harness.asTool().execute({ code: READ });
  await harness.asTool().execute({ code: pay(USER_ACCOUNT) });
  expect(world.transfers).toHaveLength(1);
});
