// The entry that every bundler packs. It has no `await` outside of functions, because CommonJS does not allow it.
import { runBoth } from './program.mjs';

runBoth().then(
  (line) => console.log(line),
  (error) => console.log(`${error.name}: ${error.message}`),
);
