// Appends to a file as fast as it can, a byte a write. Argument: the file. Ends with its parent.
import { openSync, writeSync } from 'node:fs';

const file = openSync(process.argv[2], 'a');
process.on('disconnect', () => process.exit());
function run() {
  for (let count = 0; count < 500; count += 1) writeSync(file, 'x');
  setImmediate(run);
}
process.send('ready');
run();
