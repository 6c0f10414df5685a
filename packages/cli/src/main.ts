import { EXIT } from './exit-status.js';
import { runProgram } from './program.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

// A timer keeps the process until the work is done, whatever else may or may not hold it.
const hold = setInterval(() => {}, LONGEST_TIMER_MS);
const failUnfinished = () => (process.exitCode = EXIT.failed);
process.once('exit', failUnfinished);

// The status is set, not forced: what is still on its way to stdout gets there.
process.exitCode = await runProgram(process.argv.slice(2));
process.off('exit', failUnfinished);
clearInterval(hold);
