// The site of the documentation. scripts/site.mjs writes its pages and `pages.json`, which names them in their order.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import llmstxt from 'vitepress-plugin-llms';

const { version, groups } = JSON.parse(readFileSync(new URL('../.pages/pages.json', import.meta.url), 'utf8'));

export default defineConfig({
  title: 'Toolscript',
  description: 'A language model calls your tools by writing TypeScript, and you approve what has effects.',
  lang: 'en',
  base: process.env.SITE_BASE ?? '/',
  srcDir: '.pages',
  cleanUrls: true,
  // A link to a page that is not there ends the build.
  ignoreDeadLinks: false,
  markdown: { html: false, config: keepBraces },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'How to', link: groups.find(({ text }) => text === 'How to').items[0].link },
      { text: 'Reference', link: '/docs/reference/cli' },
      { text: 'API', link: '/api/README' },
      { text: `Version ${version}`, link: '/CHANGELOG' },
    ],
    sidebar: groups,
  },
  vite: { plugins: [llmstxt({ ignoreFiles: ['api/**'], injectLLMHint: false })] },
});

/** Vue would read two braces in a page as its own. */
function keepBraces({ renderer: { rules } }) {
  const { code_inline: codeInline, text } = rules;
  rules.code_inline = (...all) => codeInline(...all).replace('<code', '<code v-pre');
  rules.text = (...all) => text(...all).replaceAll('{{', '&#123;&#123;');
}
