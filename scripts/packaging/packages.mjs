// The packages as npm publishes them, and projects that install them.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { npmCall, root } from '../prepare.mjs';
import { run } from './shell.mjs';
import { VERSIONS } from './versions.mjs';

const program = fileURLToPath(new URL('./program/', import.meta.url));

/** Packs every published package. Returns a map: name → { file, packed, unpacked, files }. */
export function packAll(folder) {
  mkdirSync(folder, { recursive: true });
  const packed = new Map();
  for (const name of readdirSync(join(root, 'packages'))) {
    if (!existsSync(join(root, 'packages', name, 'package.json'))) continue;
    const [report] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder], join(root, 'packages', name)));
    packed.set(report.name, {
      file: join(folder, report.filename),
      packed: report.size,
      unpacked: report.unpackedSize,
      files: report.files.map(({ path }) => path),
    });
  }
  return packed;
}

/** A project with the program, the given packages from their files, and tools in their tested versions. */
export function makeProject(folder, packages, tools, files = program) {
  mkdirSync(folder, { recursive: true });
  cpSync(files, folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'tried', private: true, type: 'module' }));
  const wanted = [...new Set(tools.flatMap((tool) => (tool === 'react' ? ['react', 'react-dom'] : [tool])))];
  const named = wanted.map((tool) => {
    const [name, major] = tool.split(' ');
    const version = VERSIONS[tool === 'react-dom' ? 'react' : tool];
    return major !== undefined && ['typescript', 'node'].includes(name)
      ? `${name}-${major}@npm:${name}@${version}`
      : `${name}@${version}`;
  });
  const zod = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8')).devDependencies.zod;
  npm(['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages, `zod@${zod}`, ...named], folder);
  return folder;
}

export function npm(args, cwd) {
  const [command, all] = npmCall(args);
  return run(command, all, { cwd });
}
