import { parentPort, workerData } from 'node:worker_threads';
import readability from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { toMarkdown, type PageElement } from './markdown.js';

/*
 * The thread that reads one page: HTML → DOM → the main content → Markdown. It loads nothing that the page names, and
 * runs none of its scripts.
 */

export interface ReadRequest {
  readonly html: string;
  /** The page's own URL, against which its links are resolved. */
  readonly url: string;
}

export interface ReadablePage {
  readonly title: string;
  readonly markdown: string;
}

interface PageDocument {
  readonly body: PageElement;
  cloneNode: (deep: boolean) => PageDocument;
  querySelectorAll: (selector: string) => Iterable<PageElement>;
  querySelector: (selector: string) => PageElement | null;
}

const MAX_TITLE = 500;
const NOT_CONTENT =
  'title,script,style,noscript,template,iframe,object,embed,svg,canvas,form,input,button,select,textarea';

function readPage({ html, url }: ReadRequest): ReadablePage {
  const document = parseHTML(withBody(html)).document as unknown as PageDocument;
  completeLinks(document, url);
  const title = (document.querySelector('title')?.textContent ?? '').trim().slice(0, MAX_TITLE);
  const article = mainContent(document);
  if (article !== undefined) return { title: article.title || title, markdown: toMarkdown(article.content) };
  for (const element of document.querySelectorAll(NOT_CONTENT)) element.remove();
  return { title, markdown: toMarkdown(document.body) };
}

/** Adds the elements that a page omits. Browsers add them, but this parser does not. */
function withBody(html: string): string {
  if (/<body[\s>]/iu.test(html)) return html;
  return `<!doctype html><html><body>${html.replaceAll(/<\/?(?:!doctype|html|head)\b[^<>]*>/giu, '')}</body></html>`;
}

/** The main content of an article. Undefined for pages that are not articles, such as lists of links. */
function mainContent(document: PageDocument): { title: string; content: PageElement } | undefined {
  const reader = new readability.Readability<PageElement>(document.cloneNode(true) as never, {
    // The classes name the language of code blocks.
    keepClasses: true,
    serializer: (node) => node as unknown as PageElement,
  });
  const article = reader.parse();
  if (article === null || article.content === null || article.content === undefined) return undefined;
  return { title: (article.title ?? '').trim().slice(0, MAX_TITLE), content: article.content };
}

/** Makes links absolute, and keeps only http, https and mailto links. Discards the addresses of images. */
function completeLinks(document: PageDocument, pageUrl: string): void {
  const base = absolute(document.querySelector('base[href]')?.getAttribute('href') ?? '', pageUrl) ?? pageUrl;
  for (const image of document.querySelectorAll('img')) image.setAttribute('src', base);
  for (const link of document.querySelectorAll('a[href]')) {
    const address = absolute(link.getAttribute('href') ?? '', base);
    if (address === undefined) link.removeAttribute('href');
    else link.setAttribute('href', address);
  }
}

function absolute(address: string, base: string): string | undefined {
  try {
    const { protocol, href } = new URL(address, base);
    return /^(?:https?|mailto):$/u.test(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

function workerAnswer(request: ReadRequest): ReadablePage | { problem: string } {
  try {
    return readPage(request);
  } catch (error) {
    return { problem: error instanceof RangeError ? 'it is nested too deeply' : 'it is not HTML that can be parsed' };
  }
}

parentPort?.postMessage(workerAnswer(workerData as ReadRequest));
