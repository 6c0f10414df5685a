import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';

/**
 * How long a worker stays awake for its next message, in ms. A thread that goes to sleep is woken by its
 * system only after 7 to 30 µs, in a virtual machine still later; most of a quick tool call is that.
 */
const AWAKE_MS = 0.05;
/** A message this soon after the worker's answer, its own waking included, was worth staying awake for. */
const SOON_MS = 0.15;
/** So many in a row, before the worker stays awake: at worst one short wait in so many is for nothing. */
const SOON_IN_A_ROW = 4;
/** The event loop has its turn at least this often. */
const LONGEST_MS = 20;

/**
 * Reads a port's messages, and stays awake between them while they come in quick succession. One message
 * that does not come soon, and the thread sleeps again.
 */
export function onMessages(port: MessagePort, handle: (message: unknown) => void): void {
  let answeredAt = 0;
  let soon = 0;
  port.on('message', (first: unknown) => {
    const arrivedAt = performance.now();
    soon = arrivedAt - answeredAt < SOON_MS ? soon + 1 : 0;
    for (let received: { message: unknown } | undefined = { message: first }; received !== undefined;) {
      handle(received.message);
      answeredAt = performance.now();
      if (soon < SOON_IN_A_ROW || answeredAt - arrivedAt > LONGEST_MS) return;
      received = nextMessage(port, answeredAt + AWAKE_MS);
    }
    soon = 0;
  });
}

function nextMessage(port: MessagePort, until: number): { message: unknown } | undefined {
  let received: { message: unknown } | undefined;
  do received = receiveMessageOnPort(port);
  while (received === undefined && performance.now() < until);
  return received;
}
