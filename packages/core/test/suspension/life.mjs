// One process of a script's life, for the tests: node life.mjs FOLDER ACTION [JSON]. Prints JSON lines.
import { live } from './lives.mjs';

const [folder, action, json = '{}'] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));
const outcome = await live(folder, action, JSON.parse(json), print, { workers: { size: 1 } });
if (outcome !== undefined) print(outcome);
