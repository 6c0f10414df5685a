// Prints where a process of this environment keeps its locks and journals.
import { makeStateFolder } from '../../dist/files/state-folder.js';

process.stdout.write(makeStateFolder(process.env) ?? '');
