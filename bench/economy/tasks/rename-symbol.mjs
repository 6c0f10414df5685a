import { oneByOne, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';
import { changedLines, patchOf } from '../patches.mjs';

const USERS = ['account', 'avatar', 'billing', 'comments', 'invites', 'login', 'profile', 'reports', 'settings'];
const OTHERS = ['cache', 'clock', 'router', 'strings', 'theme'];
const BEFORE = {
  'src/users.ts': `import { http } from './http.js';\n\nexport interface User {\n  id: string;\n  name: string;\n}\n\nexport async function fetchUser(id: string): Promise<User> {\n  return http.get(\`/users/\${id}\`);\n}\n\nexport async function fetchUsers(ids: readonly string[]): Promise<User[]> {\n  return Promise.all(ids.map(fetchUser));\n}\n`,
  ...Object.fromEntries(USERS.map((name) => [`src/${name}.ts`, pageOf(name)])),
  ...Object.fromEntries(OTHERS.map((name) => [`src/${name}.ts`, `export const ${name} = '${name}';\n`])),
};
const AFTER = Object.fromEntries(
  Object.entries(BEFORE).map(([path, text]) => [path, text.replaceAll(/\bfetchUser\b/gu, 'loadUser')]),
);
const CHANGED = Object.keys(BEFORE).filter((path) => BEFORE[path] !== AFTER[path]);
const PLACES = Object.values(BEFORE)
  .join('')
  .match(/\bfetchUser\b/gu).length;

const pattern = String.raw`\bfetchUser\b`;
const steps = [
  ['grepFiles', { pattern, matches: true }],
  [
    'applyPatch',
    { patch: patchOf(CHANGED.toSorted().map((path) => ({ path, hunks: changedLines(BEFORE[path], AFTER[path]) }))) },
  ],
];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'rename-symbol',
  title: `a function renamed in ${CHANGED.length} files`,
  role: CODING_ROLE,
  ask: 'Rename the function fetchUser to loadUser everywhere.',
  open: folderWorld(BEFORE),
  ways: {
    one: oneByOne(steps),
    parallel: oneByOne(steps),
    scripts: [
      script(String.raw`
const { files } = await tools.grepFiles({ pattern: '\\bfetchUser\\b' });
let places = 0;
for (const path of files) {
  const { lines } = await tools.readFile({ path });
  const content = lines.join('\n').replace(/\bfetchUser\b/g, () => {
    places++;
    return 'loadUser';
  });
  await tools.writeFile({ path, content: content + '\n' });
}
return { files, places };`),
    ],
  },
  answer: `Renamed in ${CHANGED.length} files, ${PLACES} places.`,
  evidence: CHANGED,
  value: { files: CHANGED.toSorted(), places: PLACES },
  state: AFTER,
  why: 'A search and one patch do it, but the patch has every line twice; the script says the rule once.',
};

function pageOf(name) {
  const title = name[0].toUpperCase() + name.slice(1);
  return `import { fetchUser } from './users.js';
import { render } from './view.js';

const TITLE = '${title}';

export async function show${title}(id: string): Promise<string> {
  const user = await fetchUser(id);
  return render(TITLE, user.name);
}

export async function compare${title}(left: string, right: string): Promise<boolean> {
  const [one, other] = await Promise.all([fetchUser(left), fetchUser(right)]);
  return one.name === other.name;
}
`;
}
