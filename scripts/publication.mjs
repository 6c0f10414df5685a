// `node scripts/publication.mjs`: writes what a registry shows of each published package into its package.json. The release
// runs it with `--release`, which refuses the addresses below as long as they are examples.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './prepare.mjs';

/** Replace these before the first release. */
const HOMEPAGE = 'https://toolscript.example';
const REPOSITORY = 'https://git.toolscript.example/toolscript.git';
const AUTHOR = 'The authors of Toolscript';

const COMMON = ['code mode', 'programmatic tool calling', 'llm', 'agent', 'tools', 'typescript', 'sandbox'];
const KEYWORDS = {
  core: ['approvals', 'ai sdk', 'openai', 'anthropic'],
  'isolated-vm': ['isolated-vm'],
  tools: ['file tools', 'exec', 'web'],
  mcp: ['mcp', 'model context protocol', 'gateway', 'openapi'],
  service: ['postgresql', 'redis', 'durable execution'],
  server: ['server', 'approvals', 'openapi'],
  client: ['client', 'server-sent events'],
  web: ['chat', 'approvals', 'web page'],
  cli: ['cli', 'coding agent', 'mcp', 'approvals'],
  'create-toolscript': ['create', 'template'],
};

/** The text of a published package's manifest with these members; undefined for a package that is not published. */
export function publishedManifest(name) {
  const file = join(root, 'packages', name, 'package.json');
  const manifest = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { private: true };
  if (manifest.private === true) return undefined;
  const { name: id, version, description, license, ...rest } = manifest;
  for (const member of ['keywords', 'homepage', 'repository', 'author', 'publishConfig']) delete rest[member];
  const shown = {
    keywords: [...COMMON, ...KEYWORDS[name]].toSorted((left, right) => left.localeCompare(right)),
    homepage: HOMEPAGE,
    repository: { type: 'git', url: REPOSITORY, directory: `packages/${name}` },
    author: AUTHOR,
    publishConfig: { access: 'public', provenance: true },
  };
  return JSON.stringify({ name: id, version, description, license, ...shown, ...rest });
}

export function packageNames() {
  return readdirSync(join(root, 'packages')).filter((name) => publishedManifest(name) !== undefined);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--release') && `${HOMEPAGE}${REPOSITORY}`.includes('.example')) {
    console.error('The addresses in scripts/publication.mjs are examples. Replace them before a release.');
    process.exit(1);
  }
  for (const name of packageNames()) {
    const text = `${JSON.stringify(JSON.parse(publishedManifest(name)), undefined, 2)}\n`;
    writeFileSync(join(root, 'packages', name, 'package.json'), text);
  }
}
