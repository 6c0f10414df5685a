import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { RETAIL_TOOLS } from '../economy/tau2/retail.mjs';
import { groupsOf, openShop, PLANS, runRetailTask } from '../economy/tau2/run-retail-task.mjs';
import { changedRecords, databaseAfter, retailTasks, whyAbsent } from '../economy/tau2/tasks.mjs';

const action = (tool: string, more: object = {}) => ({
  tool,
  args: {},
  changes: false,
  flows: {},
  reads: [],
  fails: false,
  ...more,
});

describe('actions of a task', () => {
  const find = action('find_user_id_by_email', { args: { email: 'a@b.example' } });
  const user = action('get_user_details', { args: { user_id: 'u1' }, flows: { user_id: 0 } });
  const order = action('get_order_details', { args: { order_id: '#W1' }, reads: [1] });
  const cancel = action('cancel_pending_order', { args: { order_id: '#W1' }, reads: [1], changes: true });
  const task = { id: '1', ask: '', actions: [find, user, order, cancel] };

  it('go into one request as soon as their arguments are known', () => {
    expect(PLANS.one(task).map((turn) => turn.length)).toEqual([1, 1, 1, 1]);
    expect(PLANS.parallel(task).map((turn) => turn.length)).toEqual([1, 1, 2]);
  });

  it('are joined by a script that passes on an id, and ends where the model must read', () => {
    const scripts = PLANS.scripts(task).map(([part]) => (part as { code: string }).code);
    expect(scripts).toHaveLength(2);
    expect(scripts[0]).toContain('get_user_details({ user_id: r1 })');
    expect(scripts[0]).toContain('return r2;');
  });

  it('stay behind a change that came before them', () => {
    const change = action('modify_user_address', { reads: [0], changes: true });
    const groups = groupsOf(
      [find, change, action('cancel_pending_order', { changes: true })],
      ({ reads }: any) => reads,
    );
    expect(groups.map((group: readonly object[]) => group.length)).toEqual([1, 2]);
  });
});

describe.skipIf(whyAbsent !== undefined)(
  `the tasks of tau2-bench${whyAbsent === undefined ? '' : `: ${whyAbsent}`}`,
  () => {
    it('are 114, and their actions fit the schemas of the tools', () => {
      const tools = new Map(RETAIL_TOOLS.map((tool) => [tool.name, tool]));
      const tasks = retailTasks();
      expect(tasks).toHaveLength(114);
      for (const { tool, args } of tasks.flatMap(({ actions }) => actions))
        expect(Object.keys(tools.get(tool)!.takes), tool).toEqual(expect.arrayContaining(Object.keys(args)));
    });

    it('change only the orders that they name, and only if they do not just read', () => {
      const changedTasks = retailTasks().filter((task) => {
        const named = task.actions.filter((one) => one.changes && !one.fails).map(({ args }) => args['order_id']);
        const { products, users, orders } = changedRecords(databaseAfter(task));
        expect(products).toEqual({});
        expect(named).toEqual(expect.arrayContaining(Object.keys(orders)));
        const count = Object.keys(users).length + Object.keys(orders).length;
        if (named.length === 0) expect(count, task.id).toBe(0);
        return count > 0;
      });
      expect(changedTasks.length).toBeGreaterThan(80);
    });

    it.each(['one', 'parallel', 'scripts'] as const)('leave the same database in the way %s', async (way) => {
      const shop = openShop(sharedThreads());
      onTestFinished(() => shop.harness.close());
      for (const task of retailTasks().filter((_, index) => index % 30 === 2))
        expect((await runRetailTask(task, way, shop)).turns).toBeGreaterThan(1);
    });
  },
);
