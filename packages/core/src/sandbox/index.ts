export { QuickJsPool, type QuickJsOptions } from './worker/pool.js';
export { IsolatedVmPool, isolatedVmFile, isolatedVmInstall, type IsolatedVmOptions } from './isolated-vm/index.js';
