// `npm run site`: the documentation as static files in site/.vitepress/dist, with search, the reference of the public names,
// `llms.txt` and the Markdown of each page. A link that leads nowhere ends it with status 1. The packages that it needs
// have a lockfile of their own, in site/. `-- --no-api` leaves out the reference of the public names.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { isInstalled, npmCall, prepareCode, root, run } from './prepare.mjs';

const site = join(root, 'site');
const pages = join(site, '.pages');
const ROOT_PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md', 'AGENTS.md'];
const GROUPS = { 'How to': 'docs/how-to', Reference: 'docs/reference', Explanation: 'docs/explanation' };
const FIRST = ['docs/tutorial.md', 'docs/architecture.md', 'docs/security.md', 'docs/operations.md'];
/** The modules of core that users import. */
const ENTRIES =
  'index ports protocol history/index stream/index providers/index agent/index ai-sdk/index tracing/index';

prepareCode();
if (!isInstalled(site)) run(...npmCall(['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: site }));
rmSync(pages, { recursive: true, force: true });
const files = new Set(markdownFiles());
for (const file of files) writePage(file, withSiteLinks(file, withoutComments(readFileSync(join(root, file), 'utf8'))));
if (process.argv.includes('--no-api')) writePage('api/README.md', '# API\n\nThis build leaves the reference out.\n');
else writeApi();
writeFileSync(join(pages, 'pages.json'), JSON.stringify(navigation()));
run(process.execPath, [join(site, 'node_modules/vitepress/bin/vitepress.js'), 'build', site]);

/** The Markdown files of the repository that pages may link to. */
function markdownFiles() {
  const folders = ['docs', 'design', 'examples', 'packages', 'bench', 'deploy'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md') && !/(?:^|\/)(?:node_modules|dist|test|api|templates)\//u.test(file))
      .map((file) => join(folder, file)),
  );
  return [...ROOT_PAGES, ...folders];
}

/** Without the comments that say how a block of a page is tested. Blocks themselves stay as they are. */
function withoutComments(text) {
  return text.replaceAll(/^(`{3,})[^]*?^\1`*$|^<!--[^]*?-->\n?/gmu, (part, fence) => (fence === undefined ? '' : part));
}

/**
 * The README is the first page. A link to a folder leads to its README, or is its text alone; one to another file that is no
 * page leads to a copy of this file.
 */
function withSiteLinks(file, text) {
  return text.replaceAll(/\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)/gu, (link, label, target, hash = '') => {
    const path = relative(root, resolve(root, dirname(file), target));
    if (path === 'README.md') return `[${label}](/${hash})`;
    if (files.has(path) || !existsSync(join(root, path))) return link;
    if (files.has(join(path, 'README.md'))) return `[${label}](/${path}/README${hash})`;
    if (!extname(path)) return label;
    const isPicture = /\.(?:png|svg)$/u.test(path);
    cpSync(join(root, path), join(pages, isPicture ? '' : 'public', path));
    return isPicture ? link : `[${label}](/${path}${hash})`;
  });
}

function writePage(file, text) {
  const path = join(pages, file === 'README.md' ? 'index.md' : file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function writeApi() {
  const entries = ENTRIES.split(' ').flatMap((entry) => ['--entryPoints', join(root, `packages/core/src/${entry}.ts`)]);
  const form = ['--plugin', 'typedoc-plugin-markdown', '--out', join(pages, 'api'), '--readme', 'none'];
  const checks = [
    '--tsconfig',
    join(root, 'packages/core/tsconfig.json'),
    '--skipErrorChecking',
    '--logLevel',
    'Error',
  ];
  const quiet = ['--disableSources', '--hidePageHeader', '--hideBreadcrumbs', '--excludePrivate', '--excludeInternal'];
  run(process.execPath, [join(site, 'node_modules/typedoc/bin/typedoc'), ...entries, ...form, ...checks, ...quiet], {
    cwd: site,
  });
}

function navigation() {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'));
  const groups = Object.entries(GROUPS).map(([text, folder]) => ({
    text,
    collapsed: text !== 'How to',
    items: [...files].filter((file) => dirname(file) === folder).map(pageLink),
  }));
  return { version, groups: [{ text: 'Toolscript', items: FIRST.map(pageLink) }, ...groups] };
}

function pageLink(file) {
  const [, title = file] = /^# (.+)$/mu.exec(readFileSync(join(root, file), 'utf8')) ?? [];
  return { text: title.replaceAll('`', ''), link: `/${file.slice(0, -'.md'.length)}` };
}
