// What every bundler packs. Without `await` outside of functions, which CommonJS does not have.
import { runBoth } from './program.mjs';

runBoth().then(
  (line) => console.log(line),
  (error) => console.log(`${error.name}: ${error.message}`),
);
