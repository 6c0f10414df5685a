// Runs in a process with a small limit of open files: takes all descriptors but a few, calls a tool, gives them back,
// and calls it again. Prints one JSON line for each number of descriptors that stay free, 0 to 9. Arguments: workspace
// folder, tool's name, its input as JSON.
import { closeSync, openSync, readdirSync } from 'node:fs';
import { codingTools } from '@toolscript/tools';

const [root, name, input] = process.argv.slice(2);
const tool = codingTools({ roots: root, exec: false }).find((one) => one.name === name);
const openNow = () => readdirSync('/proc/self/fd').length;

async function execute() {
  const valid = tool.validateInput(JSON.parse(input));
  try {
    return { value: await tool.execute(valid.value, { signal: new AbortController().signal }) };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

function takeAllBut(free) {
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null'));
  } catch {
    for (const descriptor of taken.splice(taken.length - free)) closeSync(descriptor);
  }
  return taken;
}

await execute();
for (let free = 0; free < 10; free += 1) {
  const before = openNow();
  const taken = takeAllBut(free);
  const during = await execute();
  for (const descriptor of taken) closeSync(descriptor);
  const after = await execute();
  await new Promise((resolve) => setTimeout(resolve, 50));
  console.log(JSON.stringify({ free, during, after, leaked: openNow() - before }));
}
