import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server whose answers the test defines. */
export async function openEventServer(listener: RequestListener): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** Frames of a run with these events; the event `last` ends it. */
export function framesOf(seqs: readonly number[], last: number): string {
  return seqs.map((seq) => `id: ${seq}\nevent: x\ndata: ${JSON.stringify(eventOf(seq, last))}\n\n`).join('');
}

function eventOf(seq: number, last: number) {
  const payload = seq === last ? { type: 'response_done', status: 'completed' } : { type: 'response_start' };
  return { event_id: `evt_${seq}`, run_id: 'run_1', thread_id: 'thr_1', turn_id: 'turn_1', seq, timestamp: 0, payload };
}
