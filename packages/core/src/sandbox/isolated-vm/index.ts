export { IsolatedVmPool, type IsolatedVmOptions } from './pool.js';
export { isolatedVmFile, isolatedVmInstall } from './package-file.js';
