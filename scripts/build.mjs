import { prepare } from './prepare.mjs';

prepare({ quiet: false });
