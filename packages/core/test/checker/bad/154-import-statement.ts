// line: 3
// about: import
import { readFile } from 'node:fs/promises';

const content = await readFile('README.md', 'utf8');
const headings = content.split('\n').filter((line) => line.startsWith('#'));
return headings;
