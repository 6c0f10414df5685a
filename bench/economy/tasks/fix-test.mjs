import { calls, oneByOne, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';

const WRONG = '  return items.reduce((sum, { cents, count }) => sum + discounted(cents, coupon) * count, 0);';
const RIGHT =
  '  return discounted(\n    items.reduce((sum, { cents, count }) => sum + cents * count, 0),\n    coupon,\n  );';
const CART = `/** A cart is a list of { name, cents, count }. */

export function addItem(items, item) {
  const known = items.find(({ name }) => name === item.name);
  if (known === undefined) return [...items, item];
  return items.map((one) => (one === known ? { ...one, count: one.count + item.count } : one));
}

/** The sum in cents. A coupon takes its percent from the whole sum, rounded once. */
export function total(items, coupon) {
${WRONG}
}

export function freeShipping(items) {
  return total(items) >= 5_000;
}

function discounted(cents, coupon) {
  return coupon === undefined ? cents : Math.round(cents * (1 - coupon.percent / 100));
}
`;
const TEST = `import { addItem, freeShipping, total } from './cart.mjs';

const cart = [
  { name: 'cup', cents: 335, count: 3 },
  { name: 'pot', cents: 2_499, count: 1 },
];
const cases = [
  ['a sum', total(cart), 3_504],
  ['a sum with a coupon', total(cart, { percent: 15 }), 2_978],
  ['no free shipping', freeShipping(cart), false],
  ['an item again', addItem(cart, { name: 'cup', cents: 335, count: 2 })[0].count, 5],
];
let failed = 0;
for (const [name, found, expected] of cases) {
  const ok = found === expected;
  if (!ok) failed++;
  console.log(ok ? \`ok \${name}\` : \`FAILED \${name}: expected \${expected}, found \${found}\`);
}
process.exitCode = failed === 0 ? 0 : 1;
`;
const PATCH = `*** Begin Patch
*** Update File: cart.mjs
@@
-${WRONG}
${RIGHT.replaceAll(/^/gmu, '+')}
*** End Patch`;
const test = ['exec', { command: ['node', 'cart.test.mjs'] }];
const readCart = ['readFile', { path: 'cart.mjs' }];
const readTest = ['readFile', { path: 'cart.test.mjs' }];
const patch = ['applyPatch', { patch: PATCH }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'fix-test',
  title: 'a failing test: run, read, repaired, run again',
  role: CODING_ROLE,
  ask: 'cart.test.mjs (run it with node) fails. Repair cart.mjs.',
  open: folderWorld({ 'cart.mjs': CART, 'cart.test.mjs': TEST }, { exec: true }),
  ways: {
    one: oneByOne([test, readCart, readTest, patch, test]),
    parallel: [calls(test, readCart, readTest), calls(patch), calls(test)],
    scripts: [
      script(`
const [run, cart, test] = await Promise.all([
  tools.exec({ command: ['node', 'cart.test.mjs'] }),
  tools.readFile({ path: 'cart.mjs' }),
  tools.readFile({ path: 'cart.test.mjs' }),
]);
return [run.aggregatedOutput, ...cart.lines, '', ...test.lines].join('\\n');`),
      script(`
await tools.applyPatch({
  patch: \`${PATCH}\`,
});
const { exitCode, aggregatedOutput } = await tools.exec({ command: ['node', 'cart.test.mjs'] });
return exitCode === 0 ? 'passed' : aggregatedOutput;`),
    ],
  },
  answer:
    'The coupon was taken from each item and rounded each time; now it is taken from the whole sum. The tests pass.',
  evidence: ['FAILED a sum with a coupon: expected 2978, found 2979', 'rounded once', 'exit code 0'],
  value: 'passed',
  state: { 'cart.mjs': CART.replace(WRONG, RIGHT), 'cart.test.mjs': TEST },
  why: 'The model must read the code and judge it; a script saves the turn between the repair and the next run of the test.',
};
