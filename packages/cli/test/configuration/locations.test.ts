import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '#cli/configuration/locations.js';

describe('the data folder', () => {
  it.each([
    ['linux', {}, join(homedir(), '.local', 'share')],
    ['linux', { XDG_DATA_HOME: '/data' }, '/data'],
    ['linux', { XDG_DATA_HOME: 'relative' }, join(homedir(), '.local', 'share')],
    ['darwin', {}, join(homedir(), 'Library', 'Application Support')],
    ['darwin', { XDG_DATA_HOME: '/data' }, '/data'],
    ['win32', { LOCALAPPDATA: '/local' }, '/local'],
  ] as const)('on %s with %j is in %s', (platform, environment, base) => {
    const { path, keyFile } = dataFolder(environment, platform);
    expect(path).toBe(join(base, 'toolscript'));
    expect(keyFile).toBe(join(path, 'suspension.key'));
  });
});
