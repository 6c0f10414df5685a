import { EXIT } from './exit-status.js';
import { runProgram } from './program.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

// A timer keeps the process until the work is done, whatever else may or may not hold it.
const hold = setInterval(() => {}, LONGEST_TIMER_MS);
const failUnfinished = (status: number) => (process.exitCode = status === EXIT.completed ? EXIT.failed : status);
process.once('exit', failUnfinished);
process.stdout.on('error', leaveWithoutReader);
// Whoever reads no complaints is told none.
process.stderr.on('error', () => {});

run().catch((error: unknown) => {
  process.stderr.write(`toolscript: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(EXIT.usage);
});

async function run(): Promise<never> {
  process.exitCode = await runProgram(process.argv.slice(2));
  process.off('exit', failUnfinished);
  clearInterval(hold);
  // A terminal that is gone cannot be set back, and Node aborts where it tries to: the signal itself ends the process.
  if (process.exitCode === EXIT.hungUp) process.kill(process.pid, 'SIGHUP');
  await Promise.all([process.stdout, process.stderr].map(written));
  // Left to itself, Node first waits until the engine's code is optimised, which nobody runs any more.
  process.exit();
}

/** What is still on its way gets there, or fails. */
async function written(stream: NodeJS.WriteStream): Promise<void> {
  // Where nothing is on its way, nothing is written: nobody may be there to read even that.
  if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write('', () => resolve()));
  // What went wrong with the last bytes is told a tick later.
  await new Promise((resolve) => setImmediate(resolve));
}

/** Where a command listens itself, it ends its work first. */
function leaveWithoutReader({ code, message }: NodeJS.ErrnoException): void {
  if (process.stdout.listenerCount('error') > 1) return;
  if (code === 'EPIPE') process.exit(EXIT.brokenPipe);
  process.stderr.write(`toolscript: stdout cannot be written (${code ?? message}).\n`);
  process.exit(EXIT.failed);
}
