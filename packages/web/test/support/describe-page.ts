import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { TestServerOptions } from '../../../server/test/support/test-server.js';
import { openBrowser, openPage, skipsBrowser, type WatchedPage } from './browser.js';
import { openPageServer, type PageServer } from './page-server.js';
import type { Scenes } from './page-agent.js';
import { freePort } from '@toolscript/testkit/free-port';

export interface PageSuite {
  readonly browser: Browser;
  readonly server: PageServer;
  /** Opens a page in a context of its own, which is closed after the test. `at`: default the server of the suite. */
  open(options?: BrowserContextOptions, at?: { readonly url: string; readonly token: string }): Promise<WatchedPage>;
  /** Stops the server, which keeps its data and its port for `startServer`. */
  stopServer(): Promise<void>;
  startServer(): Promise<void>;
  /** Starts a run of a scene, and opens its conversation. */
  watch(scene: string): Promise<WatchedPage & { readonly threadId: string; readonly runId: string }>;
}

/** Tests in a browser, with a server whose agent plays scenes. They are skipped where there is no Chromium. */
export function describePage(
  title: string,
  scenes: unknown,
  define: (suite: PageSuite) => void,
  options: () => TestServerOptions = () => ({}),
): void {
  describe.skipIf(skipsBrowser)(`${title} (skipped where there is no Chromium)`, () => {
    let browser: Browser;
    let server: PageServer;
    const openServer = async (more: TestServerOptions = {}) =>
      openPageServer(structuredClone(scenes) as Scenes, {
        ...options(),
        ...more,
        port: more.port ?? (await freePort()),
      });
    beforeAll(async () => {
      browser = await openBrowser();
      server = await openServer();
    });
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });
    const open: PageSuite['open'] = (contextOptions, at = server) => openPage(browser, at, contextOptions);
    define({
      open,
      get browser() {
        return browser;
      },
      get server() {
        return server;
      },
      stopServer: () => server.close({ keepsData: true }),
      async startServer() {
        server = await openServer({ folder: server.folder, port: Number(new URL(server.url).port) });
      },
      async watch(scene) {
        // The page is opened first, because a scene does not wait for it.
        const watched = await open();
        const run = await server.play(scene);
        await watched.page.goto(`${server.url}/threads/${run.threadId}`);
        return { ...watched, ...run };
      },
    });
  });
}
