// Prints the folder in which a process of this environment stores its locks and journals.
import { makeStateFolder } from '../../dist/files/state-folder.js';

process.stdout.write(makeStateFolder(process.env) ?? '');
