import { fileURLToPath } from 'node:url';

/** The folder of the built page, for the option `page` of `createServer`. */
export const pageFolder = fileURLToPath(new URL('./dist', import.meta.url));
