export { IsolatedVmPool, type IsolatedVmOptions } from './pool.js';
export { isolatedVmFile, isolatedVmInstall } from './child-process.js';
