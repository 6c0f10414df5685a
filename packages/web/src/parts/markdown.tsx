import { memo, startTransition, useEffect, useState, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { blockCode, MarkdownBlocks, type MarkdownBlock } from '../view/markdown-blocks.ts';
import { safeUrl } from '../view/safe-url.ts';
import { CodeLines } from './code-lines.tsx';
import { CopyButton } from './copy-button.tsx';
import { visible } from '../view/visible.ts';

const plugins = [remarkGfm];

/** The number of blocks of a long text that are rendered at a time, so that the page stays responsive. */
const BLOCKS_AT_ONCE = 10;

/** Untrusted text as Markdown. HTML in it stays text, images are named and not loaded, and links show their target. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const [reader] = useState(() => new MarkdownBlocks());
  const { blocks, definitions } = reader.read(text);
  const shown = useGrowingCount(blocks.length);
  return (
    <div className="markdown" dir="auto">
      {blocks
        .slice(0, shown)
        .map((block, index) =>
          block.fence === undefined ? (
            <Block key={index} text={block.text} definitions={block.text.includes('[') ? definitions : ''} />
          ) : (
            <CodeBlock key={index} text={block.text} fence={block.fence} whole={wholeCode(blocks, index)} />
          ),
        )}
    </div>
  );
});

/** The number of blocks to render. It increases to `count` in steps, and follows a growing text at once. */
function useGrowingCount(count: number): number {
  const [shown, setShown] = useState(BLOCKS_AT_ONCE);
  const isBehind = shown < count + BLOCKS_AT_ONCE / 2;
  useEffect(() => {
    if (!isBehind) return undefined;
    const timer = setTimeout(() => startTransition(() => setShown((before) => before + BLOCKS_AT_ONCE)));
    return () => clearTimeout(timer);
  }, [isBehind, shown]);
  return shown;
}

interface BlockProps {
  readonly text: string;
  /** The link definitions of all blocks; empty if the block contains no link. */
  readonly definitions: string;
}

const Block = memo(function Block({ text, definitions }: BlockProps) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeUrl}>
      {definitions === '' ? text : `${text}\n\n${definitions}`}
    </ReactMarkdown>
  );
});

interface CodeBlockProps extends MarkdownBlock {
  /** The code of this block and of those that continue it; undefined if this block continues another one. */
  readonly whole: string | undefined;
}

const CodeBlock = memo(function CodeBlock({ whole, ...block }: CodeBlockProps) {
  const { language, code } = blockCode(block);
  return (
    <>
      {whole !== undefined && <CodeHead language={language} text={whole} />}
      <CodeLines
        text={code}
        isScript={isScriptLanguage(language)}
        language={language}
        isContinued={whole === undefined}
      />
    </>
  );
});

function CodeHead({ language, text }: { readonly language: string; readonly text: string }) {
  return (
    <div className="code-head">
      <span className="dim">{visible(language)}</span>
      <CopyButton text={text} label="Copy the code" />
    </div>
  );
}

/** The whole code that begins with a block; undefined if the block continues the code above it. */
function wholeCode(blocks: readonly MarkdownBlock[], index: number): string | undefined {
  const { text, fence = '' } = blocks[index]!;
  if (!text.startsWith(fence)) return undefined;
  const end = blocks.findIndex((block, at) => at > index && (block.fence !== fence || block.text.startsWith(fence)));
  const parts = blocks.slice(index, end === -1 ? undefined : end);
  return parts.map((block) => blockCode(block).code).join('\n');
}

function isScriptLanguage(language = ''): boolean {
  return /^(?:[jt]sx?|javascript|typescript)$/u.test(language);
}

const components: Components = {
  a: ({ href, children }) => <SafeLink href={href ?? ''}>{children}</SafeLink>,
  img: ({ src, alt }) => (
    <SafeLink href={typeof src === 'string' ? src : ''}>{`Image: ${alt || 'no description'}`}</SafeLink>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = childrenText(children);
    const language = /language-(\S+)/u.exec(className ?? '')?.[1];
    if (language === undefined && !text.includes('\n')) return <code>{visible(text)}</code>;
    const code = text.replace(/\n$/u, '');
    return (
      <>
        <CodeHead language={language ?? ''} text={code} />
        <CodeLines text={code} isScript={isScriptLanguage(language)} language={language} />
      </>
    );
  },
  // A paragraph has the direction of its own text.
  p: ({ children }) => <p dir="auto">{children}</p>,
  li: ({ children, className }) => (
    <li dir="auto" className={className}>
      {children}
    </li>
  ),
  input: ({ checked }) => <input type="checkbox" disabled checked={checked} aria-label={checked ? 'Done' : 'Open'} />,
  table: ({ children }) => (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
};

function SafeLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  if (href === '') return <span>{children}</span>;
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function childrenText(children: ReactNode): string {
  if (typeof children === 'string') return children;
  return Array.isArray(children) ? children.map(childrenText).join('') : String(children ?? '');
}
