/*
 * Ten servers from npm at pinned versions, and one call of each tool that runs without an account, in the order of the
 * calls. Notion and GitHub answer nothing without an account, so none of their tools is called.
 */

const PAGE = `data:text/html,${encodeURIComponent('<title>Shop</title><input id=q><select id=s><option>a<option>b</select><button id=b>Buy</button>')}`;
/** The page that Chrome opens first. */
const pageId = 1;

/** `arguments`: after the server's own program. `chromium`: the path of the browser, if there is one. */
export const SERVERS = [
  {
    name: 'everything',
    package: '@modelcontextprotocol/server-everything',
    version: '2026.8.31',
    calls: () => [
      ['echo', { message: 'x' }],
      ['get-annotated-message', { messageType: 'success' }],
      ['get-env', {}],
      ['get-resource-links', {}],
      ['get-resource-reference', {}],
      ['get-sum', { a: 1, b: 2 }],
      ['get-tiny-image', {}],
      ['gzip-file-as-resource', { data: 'data:text/plain,x' }],
      ['toggle-simulated-logging', {}],
      ['toggle-subscriber-updates', {}],
      ['trigger-long-running-operation', { duration: 0.1, steps: 1 }],
    ],
  },
  {
    name: 'filesystem',
    package: '@modelcontextprotocol/server-filesystem',
    version: '2026.8.31',
    arguments: ({ folder }) => [folder],
  },
  { name: 'memory', package: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
  { name: 'thinking', package: '@modelcontextprotocol/server-sequential-thinking', version: '2026.8.31' },
  {
    name: 'playwright',
    package: '@playwright/mcp',
    version: '0.0.83',
    arguments: ({ chromium }) => [
      '--headless',
      '--isolated',
      '--no-sandbox',
      ...(chromium === undefined ? [] : ['--executable-path', chromium]),
    ],
    calls: ({ chromium }) =>
      chromium === undefined
        ? []
        : [
            ['browser_navigate', { url: PAGE }],
            ['browser_resize', { width: 800, height: 600 }],
            ['browser_console_messages', {}],
            ['browser_emulate_media', { colorScheme: 'dark' }],
            ['browser_evaluate', { function: '() => ({ title: document.title })' }],
            ['browser_find', { text: 'Buy' }],
            ['browser_press_key', { key: 'Tab' }],
            ['browser_type', { target: '#q', text: 'tea' }],
            ['browser_click', { target: '#b' }],
            ['browser_hover', { target: '#b' }],
            ['browser_select_option', { target: '#s', values: ['b'] }],
            ['browser_network_requests', {}],
            ['browser_run_code_unsafe', { code: 'async (page) => ({ title: await page.title() })' }],
            ['browser_take_screenshot', {}],
            ['browser_snapshot', {}],
            ['browser_tabs', { action: 'list' }],
            ['browser_wait_for', { text: 'Buy' }],
            ['browser_navigate_back', {}],
            ['browser_close', {}],
          ],
  },
  {
    name: 'devtools',
    package: 'chrome-devtools-mcp',
    version: '1.11.0',
    entry: 'build/src/bin/chrome-devtools-mcp.js',
    arguments: ({ chromium }) => [
      '--headless',
      '--isolated',
      '--chromeArg=--no-sandbox',
      ...(chromium === undefined ? [] : ['--executablePath', chromium]),
    ],
    calls: ({ chromium }) =>
      chromium === undefined
        ? []
        : [
            ['list_pages', {}],
            ['navigate_page', { pageId, type: 'url', url: PAGE }],
            ['take_snapshot', { pageId }],
            ['take_screenshot', { pageId }],
            ['evaluate_script', { pageId, function: '() => ({ title: document.title })' }],
            ['emulate', { pageId, colorScheme: 'dark' }],
            ['list_console_messages', { pageId }],
            ['list_network_requests', { pageId }],
            ['press_key', { pageId, key: 'Tab' }],
            ['type_text', { pageId, text: 'tea' }],
            ['resize_page', { pageId, width: 800, height: 600 }],
            ['select_page', { pageId }],
            ['wait_for', { pageId, text: ['Buy'] }],
            ['new_page', { url: PAGE }],
            ['close_page', { pageId: 2 }],
          ],
  },
  {
    name: 'notion',
    package: '@notionhq/notion-mcp-server',
    version: '2.5.2',
    entry: 'bin/cli.mjs',
  },
  { name: 'git', package: '@cyanheads/git-mcp-server', version: '2.15.3' },
  { name: 'github', package: '@modelcontextprotocol/server-github', version: '2025.4.8' },
  {
    name: 'time',
    package: 'time-mcp',
    version: '1.0.6',
    calls: () => [
      ['current_time', {}],
      ['relative_time', { time: '2026-01-01 00:00:00' }],
      ['days_in_month', {}],
      ['get_timestamp', {}],
      ['convert_time', { sourceTimezone: 'UTC', targetTimezone: 'Asia/Tokyo', time: '2026-01-01 00:00:00' }],
      ['get_week_year', {}],
    ],
  },
];
