export { QuickJsPool, type QuickJsOptions } from './worker/pool.js';
