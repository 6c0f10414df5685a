import { LoginCallback } from '#cli/mcp/login-callback.js';
import { request } from 'node:http';
import { expect, it } from 'vitest';

function ask(url: string, path: string): Promise<number | undefined> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

it('a path that is no address gets 404, and the login goes on', async () => {
  const callback = new LoginCallback();
  await callback.listen();
  for (const path of ['//', 'http://', '/other', '*']) expect(await ask(callback.url, path), path).toBe(404);
  expect(await ask(callback.url, '/callback?code=1')).toBe(200);
  expect((await callback.address()).search).toBe('?code=1');
  callback.close();
});
