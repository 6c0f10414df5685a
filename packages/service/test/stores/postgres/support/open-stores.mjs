/** Opens and closes the stores at a URL. */
import { openStores } from '#service/stores/index.js';

const stores = await openStores(process.argv[2]);
await stores.close();
