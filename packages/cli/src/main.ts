import { EXIT } from './exit-status.js';
import { runProgram } from './program.js';

/** A timer keeps the process until the work is done, whatever else may or may not hold it. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

// Should the process ever end in the middle of the work, that is no success.
process.exitCode = EXIT.failed;
const hold = setInterval(() => {}, LONGEST_TIMER_MS);
try {
  // The status is set, not forced: what is still on its way to stdout gets there.
  process.exitCode = await runProgram(process.argv.slice(2));
} finally {
  clearInterval(hold);
}
