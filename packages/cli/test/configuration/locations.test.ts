import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '#cli/configuration/locations.js';

describe('the data folder', () => {
  it.each([
    ['linux', { HOME: '/home/u' }, '/home/u/.local/share'],
    ['linux', { HOME: '/home/u', XDG_DATA_HOME: '' }, '/home/u/.local/share'],
    ['linux', { HOME: '' }, join(userInfo().homedir, '.local', 'share')],
    ['linux', {}, join(userInfo().homedir, '.local', 'share')],
    ['linux', { XDG_DATA_HOME: '/data' }, '/data'],
    ['linux', { HOME: '/home/u', XDG_DATA_HOME: 'relative' }, '/home/u/.local/share'],
    ['darwin', { HOME: '/home/u' }, '/home/u/Library/Application Support'],
    ['darwin', { XDG_DATA_HOME: '/data' }, '/data'],
    ['win32', { LOCALAPPDATA: '/local' }, '/local'],
  ] as const)('on %s with %j is in %s', (platform, environment, base) => {
    const { path, keyFile } = dataFolder(environment, platform);
    expect(path).toBe(join(base, 'toolscript'));
    expect(keyFile).toBe(join(path, 'suspension.key'));
  });
});
