import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { argumentProblems } from './check-arguments.ts';

export interface EditorContent {
  readonly text: string;
  readonly original: string;
  readonly schema: Readonly<Record<string, unknown>> | undefined;
}

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--tok-keyword)' },
  { tag: tags.string, color: 'var(--tok-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--tok-number)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--code-ground)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--dim)', border: 'none' },
  '.cm-scroller': { maxHeight: '20rem', overflow: 'auto' },
  '.cm-deletedChunk': { backgroundColor: 'var(--removed)' },
  '.cm-changedLine': { backgroundColor: 'var(--added)' },
});

/**
 * Opens an editor in a shadow tree, because the page's content security policy allows no style elements. Returns a
 * function that closes the editor.
 */
export function openEditor(
  host: HTMLElement,
  { text, original, schema }: EditorContent,
  onChange: (text: string, problems: readonly string[]) => void,
): () => void {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const parent = document.createElement('div');
  root.replaceChildren(parent);
  const state = EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(),
      history(),
      bracketMatching(),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      json(),
      syntaxHighlighting(highlight),
      unifiedMergeView({ original, mergeControls: false, highlightChanges: true }),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': 'Arguments as JSON' }),
      theme,
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        const next = update.state.doc.toString();
        onChange(next, argumentProblems(next, schema));
      }),
    ],
  });
  const view = new EditorView({ state, parent, root });
  view.focus();
  return () => view.destroy();
}
