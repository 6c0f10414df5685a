import { memo, useDeferredValue, useState, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { markdownBlocks } from '../view/markdown-blocks.ts';
import { safeUrl } from '../view/safe-url.ts';
import { CodeLines } from './code-lines.tsx';

const plugins = [remarkGfm];

/** Longer texts are shown as plain text, on demand as a whole. */
const MAX_MARKDOWN = 60_000;

/** Untrusted text as Markdown. HTML in it stays text, images are named and not loaded, and links show their target. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const latest = useDeferredValue(text);
  if (latest.length > MAX_MARKDOWN) return <LongText text={latest} />;
  return (
    <div className="markdown">
      {markdownBlocks(latest).map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
});

const Block = memo(function Block({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeUrl}>
      {text}
    </ReactMarkdown>
  );
});

function LongText({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  return (
    <div className="long-text">
      <p>{isWhole ? text : text.slice(0, MAX_MARKDOWN)}</p>
      {!isWhole && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show the whole answer: {text.length.toLocaleString('en')} characters
        </button>
      )}
    </div>
  );
}

const components: Components = {
  a: ({ href, children }) => <SafeLink href={href ?? ''}>{children}</SafeLink>,
  img: ({ src, alt }) => (
    <SafeLink href={typeof src === 'string' ? src : ''}>{`Image: ${alt || 'no description'}`}</SafeLink>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = textOf(children);
    const language = /language-(\S+)/u.exec(className ?? '')?.[1];
    if (language === undefined && !text.includes('\n')) return <code>{text}</code>;
    return (
      <CodeLines
        text={text.replace(/\n$/u, '')}
        isScript={/^(?:[jt]sx?|javascript|typescript)$/u.test(language ?? '')}
      />
    );
  },
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

function textOf(children: ReactNode): string {
  if (typeof children === 'string') return children;
  return Array.isArray(children) ? children.map(textOf).join('') : String(children ?? '');
}
