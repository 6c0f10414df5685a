export { QUICKJS_BRIDGE, QuickJsPool, type QuickJsOptions } from './worker/pool.js';
export { isolatedVmInstall, isolatedVmMissing, loadIsolatedVm } from './isolated-vm.js';
