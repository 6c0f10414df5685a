// `npm run api`: writes the API report of each published entry point, `packages/*/api/*.api.md`, from the built
// declarations. `-- --check` writes nothing, and fails if a report is stale.
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { prepareCode, root } from './prepare.mjs';

/** Any release may change these entry points, so they have no report. */
const UNSTABLE = ['@toolscript/core/internal', '@toolscript/core/internal-data', '@toolscript/isolated-vm'];

const isCheck = process.argv.includes('--check');
prepareCode();
const scratch = mkdtempSync(join(tmpdir(), 'toolscript-api-'));
try {
  const entries = readdirSync(join(root, 'packages')).flatMap(publishedEntries);
  const files = entries.map(({ declarations }) => declarations);
  const state = CompilerState.create(extractorConfig(entries[0], files), { additionalEntryPoints: files });
  const reports = new Map(entries.map((entry) => [entry.report, reportText(entry, files, state)]));
  const stale = [...reports].filter(([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text);
  const surplus = committedReports(entries).filter((path) => !reports.has(path));
  if (!isCheck) update(stale, surplus);
  else refuse([...stale.map(([path]) => path), ...surplus]);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** The entry points of a package that have declarations of its build. */
function publishedEntries(name) {
  const folder = join(root, 'packages', name);
  const {
    name: packageName,
    exports = {},
    private: isPrivate,
  } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (isPrivate === true) return [];
  return Object.entries(exports)
    .filter(([path, { types }]) => types?.startsWith('./dist/') && !UNSTABLE.includes(packageName + path.slice(1)))
    .map(([path, { types }]) => ({
      folder,
      declarations: join(folder, types),
      report: join(folder, 'api', `${path === '.' ? 'index' : path.slice(2)}.api.md`),
    }));
}

function committedReports(entries) {
  return [...new Set(entries.map(({ report }) => dirname(report)))]
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
}

/** All entry points share one program of the compiler, so each configuration names all of their files. */
function extractorConfig({ folder, declarations }, files) {
  const compilerOptions = { module: 'nodenext', target: 'es2023', lib: ['es2023'], types: ['node'], strict: true };
  const ignored = { default: { logLevel: 'none' } };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: declarations,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions: { ...compilerOptions, skipLibCheck: true }, files } },
      apiReport: {
        enabled: true,
        reportFileName: 'report',
        reportFolder: scratch,
        reportTempFolder: join(scratch, 'new'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { extractorMessageReporting: ignored, tsdocMessageReporting: ignored },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(folder, 'package.json'),
  });
}

function reportText(entry, files, compilerState) {
  const config = extractorConfig(entry, files);
  const { errorCount } = Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback: (message) => {
      message.handled = message.logLevel !== ExtractorLogLevel.Error;
    },
  });
  if (errorCount > 0) throw new Error(`No report of ${relative(root, entry.declarations)} could be made.`);
  return readFileSync(config.reportTempFilePath, 'utf8');
}

function update(stale, surplus) {
  for (const [path, text] of stale) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(`wrote ${relative(root, path)}`);
  }
  for (const path of surplus) {
    rmSync(path);
    console.log(`removed ${relative(root, path)}`);
  }
}

function refuse(paths) {
  if (paths.length === 0) return;
  console.error('These API reports differ from the built declarations. Run `npm run api` and commit the reports:');
  for (const path of paths) console.error(`  ${relative(root, path)}`);
  process.exitCode = 1;
}
