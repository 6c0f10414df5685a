// `npm test [-- vitest arguments]`: installs and builds what is missing, then runs the tests. `--slow`: the slow ones.
import { prepare, runTool } from './prepare.mjs';

const [first, ...others] = process.argv.slice(2);

prepare();
if (first === '--slow') runTool('vitest', ['run', '--project', 'slow*', ...others]);
else if (first !== undefined || process.env['CI'] !== undefined || process.env['TOOLSCRIPT_ALL_CASES'] !== undefined)
  runTool('vitest', ['run', ...process.argv.slice(2)]);
else {
  runTool('vitest', ['run', '--project', 'fast*']);
  console.log('The slow tests were left out: they run in CI, and with "npm run test:slow".');
}
