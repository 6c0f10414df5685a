import { calls, oneByOne, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';

const FUNCTION = `export function formatPrice(cents: number, currency = 'EUR'): string {
  const amount = new Intl.NumberFormat('en-US', { style: 'currency', currency });
  return amount.format(cents / 100);
}
`;
const UTILS_HEAD = `/** Small things that several pages need. */

export function slugify(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

export function chunk<Value>(values: readonly Value[], size: number): Value[][] {
  const chunks: Value[][] = [];
  for (let at = 0; at < values.length; at += size) chunks.push(values.slice(at, at + size));
  return chunks;
}
`;
const UTILS_TAIL = `export function plural(count: number, word: string): string {
  return count === 1 ? \`1 \${word}\` : \`\${count} \${word}s\`;
}

export function initials(name: string): string {
  return name
    .split(' ')
    .map((part) => part[0]?.toUpperCase() ?? '')
    .join('');
}
`;
const BEFORE = {
  'src/utils.ts': `${UTILS_HEAD}\n${FUNCTION}\n${UTILS_TAIL}`,
  'src/cart.ts': `import { formatPrice } from './utils.js';\n\nexport const total = (cents: number): string => formatPrice(cents);\n`,
  'src/invoice.ts': `import { formatPrice, plural } from './utils.js';\n\nexport const line = (cents: number, count: number): string => \`\${plural(count, 'item')}, \${formatPrice(cents)}\`;\n`,
  'src/product.ts': `import { formatPrice, slugify } from './utils.js';\n\nexport const label = (name: string, cents: number): string => \`\${slugify(name)} \${formatPrice(cents)}\`;\n`,
  'src/people.ts': `import { initials } from './utils.js';\n\nexport const badge = (name: string): string => initials(name);\n`,
};
const AFTER = {
  ...BEFORE,
  'src/utils.ts': `${UTILS_HEAD}\n${UTILS_TAIL}`,
  'src/money.ts': FUNCTION,
  'src/cart.ts': BEFORE['src/cart.ts'].replace('./utils.js', './money.js'),
  'src/invoice.ts': BEFORE['src/invoice.ts'].replace(
    "import { formatPrice, plural } from './utils.js';",
    "import { formatPrice } from './money.js';\nimport { plural } from './utils.js';",
  ),
  'src/product.ts': BEFORE['src/product.ts'].replace(
    "import { formatPrice, slugify } from './utils.js';",
    "import { formatPrice } from './money.js';\nimport { slugify } from './utils.js';",
  ),
};
const lines = (sign) =>
  FUNCTION.trimEnd()
    .split('\n')
    .map((line) => sign + line)
    .join('\n');
const PATCH = `*** Begin Patch
*** Add File: src/money.ts
${lines('+')}
*** Update File: src/utils.ts
@@
${lines('-')}
-
*** Update File: src/cart.ts
@@
-import { formatPrice } from './utils.js';
+import { formatPrice } from './money.js';
*** Update File: src/invoice.ts
@@
-import { formatPrice, plural } from './utils.js';
+import { formatPrice } from './money.js';
+import { plural } from './utils.js';
*** Update File: src/product.ts
@@
-import { formatPrice, slugify } from './utils.js';
+import { formatPrice } from './money.js';
+import { slugify } from './utils.js';
*** End Patch`;
const search = ['grepFiles', { pattern: 'formatPrice', matches: true }];
const read = ['readFile', { path: 'src/utils.ts' }];
const patch = ['applyPatch', { patch: PATCH }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'move-function',
  title: 'a function moved to a file of its own, and its imports',
  role: CODING_ROLE,
  ask: 'Move formatPrice from src/utils.ts to a new file src/money.ts, and repair the imports.',
  open: folderWorld(BEFORE),
  ways: {
    one: oneByOne([search, read, patch]),
    parallel: [calls(search, read), calls(patch)],
    scripts: [
      script(`
const [uses, utils] = await Promise.all([
  tools.grepFiles({ pattern: 'formatPrice', matches: true }),
  tools.readFile({ path: 'src/utils.ts' }),
]);
return uses.content + '\\n\\n' + utils.lines.join('\\n');`),
      script(`const patch = \`${PATCH}\`;\nreturn (await tools.applyPatch({ patch })).changes.length;`),
    ],
  },
  answer: 'formatPrice is in src/money.ts now; cart.ts, invoice.ts and product.ts import it from there.',
  evidence: ['new Intl.NumberFormat', ...['cart', 'invoice', 'product'].map((name) => `src/${name}.ts:1:`)],
  value: 5,
  state: AFTER,
  why: 'The model must see the code and write the patch in each way: a script only carries the same calls.',
};
