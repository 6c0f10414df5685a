import { describe, expect, it } from 'vitest';
import { isLoopback, KnownOrigins } from '#server/access/index.js';

const known = new KnownOrigins({
  hosts: ['Tools.Example.com.'],
  origins: ['https://App.example.com', 'http://a.example:8080'],
});

describe('a Host header', () => {
  it.each([
    ['127.0.0.1:4319'],
    ['127.0.0.1'],
    ['localhost:1'],
    ['LOCALHOST'],
    ['localhost.'],
    ['[::1]:4319'],
    ['[0:0:0:0:0:0:0:1]'],
    ['tools.example.com'],
    ['TOOLS.example.COM:443'],
    ['tools.example.com.:443'],
    ['192.168.1.5:80'],
    ['[fe80::2]'],
  ])('%s is known', (host) => {
    const arrivedAt = host.startsWith('[fe80') ? 'fe80::2%eth0' : '::ffff:192.168.1.5';
    expect(known.knowsHost(host, arrivedAt)).toBe(true);
  });

  it.each([
    [undefined],
    [''],
    ['.'],
    [':4319'],
    ['evil.example'],
    ['127.0.0.1.evil.example'],
    ['localhost.evil.example'],
    ['localhost..'],
    ['evil.tools.example.com'],
    ['user@127.0.0.1'],
    ['127.0.0.1@evil.example'],
    ['evil.example:80@127.0.0.1'],
    ['127.0.0.1/'],
    ['127.0.0.1#'],
    ['127.0.0.1\\'],
    ['127.0.0.1 '],
    ['127.0.0.1:'],
    ['127.0.0.1:port'],
    ['127.0.0.1:123456'],
    ['127.0.0.1, evil.example'],
    ['127.1'],
    ['2130706433'],
    ['0x7f.1'],
    ['0.0.0.0'],
    ['[::]'],
    ['[::ffff:127.0.0.1]'],
    ['[::1'],
    ['::1'],
    ['[::1]evil.example'],
    ['[zz]'],
    ['10.0.0.1'],
    ['ｌocalhost'],
    ['localhost%00'],
  ])('%s is not known', (host) => {
    expect(known.knowsHost(host, '127.0.0.1')).toBe(false);
  });
});

describe('an Origin header', () => {
  it.each([
    ['http://127.0.0.1:4319', '127.0.0.1:4319'],
    ['HTTP://LocalHost:4319', 'localhost:4319'],
    ['http://localhost', 'localhost:80'],
    ['https://localhost', 'localhost:443'],
    ['http://[::1]:4319', '[0:0:0:0:0:0:0:1]:4319'],
    ['https://app.example.com', '127.0.0.1:4319'],
    ['http://A.example:8080', '127.0.0.1:4319'],
  ])('%s may call %s', (origin, host) => {
    expect(known.knowsOrigin(origin, host)).toBe(true);
  });

  it.each([
    ['null', '127.0.0.1:4319'],
    ['', '127.0.0.1:4319'],
    ['*', '127.0.0.1:4319'],
    ['http://evil.example', '127.0.0.1:4319'],
    ['http://127.0.0.1:3000', '127.0.0.1:4319'],
    ['http://localhost:4319', '127.0.0.1:4319'],
    ['http://127.0.0.1', '127.0.0.1:4319'],
    ['file://127.0.0.1:4319', '127.0.0.1:4319'],
    ['chrome-extension://127.0.0.1:4319', '127.0.0.1:4319'],
    ['http://user@127.0.0.1:4319', '127.0.0.1:4319'],
    ['http://127.0.0.1:4319/', '127.0.0.1:4319'],
    ['http://127.0.0.1:4319, http://evil.example', '127.0.0.1:4319'],
    ['http://app.example.com', '127.0.0.1:4319'],
    ['https://app.example.com:8443', '127.0.0.1:4319'],
    ['https://app.example.com.evil.example', '127.0.0.1:4319'],
    ['https://xapp.example.com', '127.0.0.1:4319'],
    ['http://a.example', '127.0.0.1:4319'],
  ])('%s may not call %s', (origin, host) => {
    expect(known.knowsOrigin(origin, host)).toBe(false);
  });

  it.each([
    ['*'],
    ['null'],
    ['https://*.example.com'],
    ['https://a.example/path'],
    ['a.example'],
    ['https://u@a.example'],
  ])('%s cannot be configured', (origin) => {
    expect(() => new KnownOrigins({ origins: [origin] })).toThrow('is not an origin of a page');
  });

  it.each([['*'], ['a.example:80'], ['http://a.example'], [''], ['a b']])(
    '%s cannot be configured as a host',
    (host) => {
      expect(() => new KnownOrigins({ hosts: [host] })).toThrow('is not a host name');
    },
  );
});

describe('an address', () => {
  it.each([['127.0.0.1'], ['127.9.9.9'], ['::1'], ['::ffff:127.0.0.1']])('%s belongs to this machine', (address) => {
    expect(isLoopback(address)).toBe(true);
  });

  it.each([['10.0.0.1'], ['::'], ['0.0.0.0'], ['::ffff:10.0.0.1'], ['localhost'], ['']])(
    '%s does not belong to this machine',
    (address) => {
      expect(isLoopback(address)).toBe(false);
    },
  );
});
