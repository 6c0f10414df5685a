/** Opens the log at a URL, uses it, and does not close it. */
import { openEventLog } from '#service/stores/index.js';

const log = await openEventLog(process.argv[2]);
const reading = log.subscribe('run_a')[Symbol.asyncIterator]().next();
await log.open('run_a', 1);
await log.publish(1, [
  {
    event_id: 'evt_a',
    run_id: 'run_a',
    thread_id: 'thr_a',
    turn_id: 'turn_a',
    seq: 0,
    timestamp: 1,
    payload: { type: 'response_start' },
  },
]);
if ((await reading).value.seq !== 0) process.exitCode = 1;
