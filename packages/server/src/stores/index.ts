export { openEventLog, openStores, type OpenStoresOptions } from './open-stores.js';
