import { cutText } from '../view/cut-text.ts';
import { visible } from '../view/visible.ts';

/** A text that a model wrote: indented, so that no line of it looks like a line of the page, and cut. */
export function FreeText({ title, text }: { readonly title: string; readonly text: string }) {
  const { shown, omitted } = cutText(visible(text));
  return (
    <blockquote className="free-text">
      <span className="dim">{title}: </span>
      {shown}
      {omitted > 0 && <span className="dim"> … {omitted} more characters</span>}
    </blockquote>
  );
}
