export { openEventLog, openStores, type OpenStoresOptions } from '@toolscript/service/stores';
