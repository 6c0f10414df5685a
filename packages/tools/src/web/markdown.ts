import Turndown from 'turndown';

/** The part of a DOM element that the conversion to Markdown needs. */
export interface PageElement {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly parentNode: PageElement | null;
  readonly children: ArrayLike<PageElement>;
  getAttribute: (name: string) => string | null;
  setAttribute: (name: string, value: string) => void;
  removeAttribute: (name: string) => void;
  remove: () => void;
}

/** An element as Markdown, with tables. */
export function toMarkdown(element: PageElement): string {
  const writer = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  writer.remove(['script', 'style', 'noscript', 'template', 'iframe']);
  writer.addRule('image', { filter: 'img', replacement: (_content, node) => imageText(asElement(node)) });
  writer.addRule('cell', { filter: ['th', 'td'], replacement: (content) => ` ${inOneLine(content)} |` });
  writer.addRule('row', { filter: 'tr', replacement: (content, node) => rowText(content, asElement(node)) });
  writer.addRule('rows', { filter: ['thead', 'tbody', 'tfoot'], replacement: (content) => `\n${content.trim()}\n` });
  writer.addRule('table', { filter: 'table', replacement: (content) => `\n\n${content.trim()}\n\n` });
  return writer.turndown(element as never).trim();
}

function asElement(node: unknown): PageElement {
  return node as PageElement;
}

/** Models do not see the images of a page, so only the description is kept. */
function imageText(image: PageElement): string {
  const description = inOneLine(image.getAttribute('alt') ?? '');
  return description === '' ? '' : `[image: ${description}]`;
}

function rowText(content: string, row: PageElement): string {
  const line = `\n|${content.replaceAll('\n', ' ')}`;
  return isFirst(row) ? `${line}\n|${' --- |'.repeat(Math.min(row.children.length, 100))}` : line;
}

function isFirst(row: PageElement): boolean {
  const group = row.parentNode;
  if (group === null || group.children[0] !== row) return false;
  return group.nodeName === 'TABLE' || group.nodeName === 'THEAD' || group.parentNode?.children[0] === group;
}

function inOneLine(text: string): string {
  return text
    .trim()
    .replaceAll(/\s+/gu, (run) => (run.includes('\n') ? ' ' : run))
    .replaceAll('|', '\\|');
}
