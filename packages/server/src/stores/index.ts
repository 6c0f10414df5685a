export { openDatabase, openEventLog, openStores, type OpenDatabase, type OpenStoresOptions } from './open-stores.js';
