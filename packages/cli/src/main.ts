import { EXIT } from './exit-status.js';
import { reportFault, runProgram } from './program.js';
import { stdoutFailure } from './usage-error.js';

const MAX_TIMER_MS = 2 ** 31 - 1;

// The timer keeps the process alive until the work is done, even if nothing else keeps it alive.
const hold = setInterval(() => {}, MAX_TIMER_MS);
const failUnfinished = (status: number) => (process.exitCode = status === EXIT.completed ? EXIT.failed : status);
process.once('exit', failUnfinished);
process.stdout.on('error', leaveWithoutReader);
// A closed stderr is not an error: its messages are lost.
process.stderr.on('error', () => {});

run().catch((error: unknown) => {
  process.exit(reportFault(error));
});

async function run(): Promise<never> {
  process.exitCode = await runProgram(process.argv.slice(2));
  process.off('exit', failUnfinished);
  clearInterval(hold);
  // Node aborts if it tries to restore a closed terminal, so SIGHUP ends the process instead.
  if (process.exitCode === EXIT.hungUp) process.kill(process.pid, 'SIGHUP');
  await Promise.all([process.stdout, process.stderr].map(untilWritten));
  // Without this call, Node waits until the engine's code is optimised, although the code never runs again.
  process.exit();
}

/** Waits until the pending output of a stream is written or has failed. */
async function untilWritten(stream: NodeJS.WriteStream): Promise<void> {
  // The empty write waits for pending output. Without pending output it is omitted, because the stream may have no
  // reader.
  if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write('', () => resolve()));
  // An error of the last bytes is emitted one tick later.
  await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Exits when stdout has failed. If the command has a listener of its own for this error, that listener ends the
 * command.
 */
function leaveWithoutReader(error: NodeJS.ErrnoException): void {
  if (process.stdout.listenerCount('error') > 1) return;
  if (error.code === 'EPIPE') process.exit(EXIT.brokenPipe);
  process.stderr.write(stdoutFailure(error));
  process.exit(EXIT.failed);
}
