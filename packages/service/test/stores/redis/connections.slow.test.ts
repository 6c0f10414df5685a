import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { describeWithOwnRedis, OwnRedis } from './support/test-redis.js';
import { newFolder } from '@toolscript/testkit/folder';
import { freePort } from '@toolscript/testkit/free-port';

// Each test starts several processes.

const STORES = pathToFileURL(join(import.meta.dirname, '../../../dist/stores/index.js')).href;

/** Opens a log in a separate process, publishes an event, reads it, and does not close the log. */
function openInProcess(url: string, environment: Record<string, string> = {}) {
  const event = {
    event_id: 'evt_0',
    run_id: 'run_a',
    thread_id: 'thr_a',
    turn_id: 'turn_a',
    seq: 0,
    timestamp: 0,
    payload: { type: 'item_delta', item_id: 'item_1', delta: 'text' },
  };
  const code = `import { openEventLog } from ${JSON.stringify(STORES)};
    try {
      const log = await openEventLog(${JSON.stringify(url)});
      await log.open('run_a', 1);
      await log.publish(1, [${JSON.stringify(event)}]);
      for await (const { seq } of log.subscribe('run_a')) { console.log('event', seq); break; }
    } catch (error) { console.log(error.name, error.message); }`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
    timeout: 240_000,
  });
  return { stdout, stderr, status };
}

/** A certificate that its own key has signed, for 127.0.0.1 and localhost. */
function selfSigned(): { cert: string; key: string } {
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(newFolder(), name)) as [string, string];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const { status, stderr } = spawnSync('openssl', [...request, ...names, '-keyout', key, '-out', cert], {
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return { cert, key };
}

describeWithOwnRedis('a connection to Redis', () => {
  it('that is open keeps no process alive', async () => {
    const redis = await OwnRedis.start();
    expect(openInProcess(redis.url())).toEqual({ stdout: 'event 0\n', stderr: '', status: 0 });
  });

  it('over TLS verifies the certificate, and trusts a self-signed one only if NODE_EXTRA_CA_CERTS names it', async () => {
    const { cert, key } = selfSigned();
    const port = await freePort();
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    await OwnRedis.start('--tls-port', String(port), '--tls-auth-clients', 'no', ...files);
    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `rediss://${host}:${port}`;
      const trusted = openInProcess(url, { NODE_EXTRA_CA_CERTS: cert });
      expect(trusted).toEqual({ stdout: 'event 0\n', stderr: '', status: 0 });
      expect(openInProcess(url).stdout).toMatch(
        /^StoreUnavailableError The certificate of Redis at (?:127\.0\.0\.1|localhost):\d+ is not trusted \(.*\)\. .*NODE_EXTRA_CA_CERTS/u,
      );
    }
    expect(openInProcess(`redis://127.0.0.1:${port}`).stdout).toContain('or use rediss:// for TLS');
  });

  it('to the wrong node of a cluster is refused at once, with the address of the right one', async () => {
    const buses = [await freePort(), await freePort()];
    const cluster = (bus: number) => ['--cluster-enabled', 'yes', '--cluster-port', String(bus)];
    const nodes = [await OwnRedis.start(...cluster(buses[0]!)), await OwnRedis.start(...cluster(buses[1]!))] as const;
    nodes[0].command('cluster', 'addslotsrange', '0', '8191');
    nodes[1].command('cluster', 'addslotsrange', '8192', '16383');
    nodes[1].command('config', 'set', 'cluster-announce-ip', '127.0.0.1');
    nodes[0].command('config', 'set', 'cluster-announce-ip', '127.0.0.1');
    nodes[0].command('cluster', 'meet', '127.0.0.1', String(nodes[1].port), String(buses[1]));
    for (const node of nodes)
      while (!node.command('cluster', 'info').includes('cluster_state:ok')) await new Promise(setImmediate);
    const slot = Number(nodes[0].command('cluster', 'keyslot', '{toolscript}:runs'));
    const [right, wrong] = slot <= 8191 ? nodes : nodes.toReversed();
    expect(openInProcess(right!.url()).stdout).toBe('event 0\n');
    expect(openInProcess(wrong!.url()).stdout).toBe(
      `StoreUnavailableError Redis at 127.0.0.1:${wrong!.port} is a cluster node without the keys of this log. Use the URL of the node that has them: redis://127.0.0.1:${right!.port}\n`,
    );
  });
});
