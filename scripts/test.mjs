// `npm test [-- vitest arguments]`: installs and builds what is missing, then every test.
import { prepare, runTool } from './prepare.mjs';

prepare();
runTool('vitest', ['run', ...process.argv.slice(2)]);
