import {
  lazy,
  Suspense,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type ComponentProps,
  type RefObject,
} from 'react';
import { ProblemError, type Approval, type Decision, type Tool } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { useNow } from '../parts/use-now.ts';
import { age } from '../view/format.ts';
import type { ScriptView } from '../view/types.ts';
import { ArgumentOrigins, ArgumentSourceLines } from './argument-origins.tsx';
import { CallPreview, longTexts, pretty } from './call-preview.tsx';
import { DecisionButton } from './decision-button.tsx';
import { FreeText } from './free-text.tsx';
import { useDecisionGuard } from './use-decision-guard.ts';
import { visible } from '../view/visible.ts';

const JsonEditor = lazy(() => import('./json-editor.tsx'));
const TextEditor = lazy(() => import('./text-editor.tsx'));

type Mode = 'decide' | 'edit' | 'deny';
type Remember = 'script' | 'plan' | 'workspace' | undefined;

interface ApprovalCardProps {
  readonly approval: Approval;
  /** The script that makes the call. */
  readonly script?: ScriptView | undefined;
}

const EFFECTS = { read: 'reads', write: 'changes data', external: 'has external effects' } as const;

/** A call that waits for the user's decision: first the facts about the call, then the texts that the model wrote. */
export function ApprovalCard({ approval, script }: ApprovalCardProps) {
  const { approvalId, tool, effect, line, context, createdAt } = approval;
  const now = useNow(15_000);
  const titleId = useId();
  const card = useRef<HTMLElement>(null);
  const [mode, setMode] = useState<Mode>('decide');
  useFocusWhenAsked(approvalId, card);
  return (
    <article
      ref={card}
      className="card approval"
      aria-labelledby={titleId}
      tabIndex={0}
      data-approval={approvalId}
      data-mode={mode}
    >
      <header className="card-head">
        <span className="dot" data-status="suspended" />
        <h2 id={titleId} data-read>
          <code>{visible(tool)}</code> waits for you
        </h2>
        <span className="tag" data-effect={effect} data-read>
          {EFFECTS[effect]}
        </span>
        <span className="dim approval-age">
          {line !== undefined && `line ${line} · `}
          {age(createdAt, now)}
        </span>
      </header>
      <div data-read>
        <CallSource approval={approval} />
        <CallPreview approval={approval} />
        <ArgumentSourceLines approval={approval} />
        {script !== undefined && approval.provenance === undefined && (
          <ArgumentOrigins approval={approval} script={script} />
        )}
        <RestOfPlan approval={approval} />
        {context !== undefined && <FreeText title="The script says" text={context} />}
      </div>
      <DecisionForm approval={approval} card={card} mode={mode} setMode={setMode} />
    </article>
  );
}

/** Focuses the card if the user has moved to it from another conversation, and types nowhere else meanwhile. */
function useFocusWhenAsked(approvalId: string, card: RefObject<HTMLElement | null>): void {
  const { approvalToFocus } = useSession();
  useLayoutEffect(() => {
    if (approvalToFocus.value !== approvalId) return;
    approvalToFocus.set('');
    if (document.activeElement === document.body) card.current?.focus();
  }, [approvalId, approvalToFocus, card]);
}

/** The agents and the line of the script that make the call. */
function CallSource({ approval: { agents = [], line, snippet } }: { readonly approval: Approval }) {
  return (
    <>
      {agents.length > 0 && (
        <p className="approval-context">A sub-agent asks: {agents.map((agent) => visible(agent)).join(' › ')}</p>
      )}
      {snippet !== undefined && (
        <p className="approval-line">
          {line !== undefined && <span className="dim">line {line}</span>} <code>{visible(snippet)}</code>
        </p>
      )}
    </>
  );
}

/** The planned calls after the pending call. */
function RestOfPlan({ approval: { plan, line = 0 } }: { readonly approval: Approval }) {
  const rest = plan.filter((call) => call.line > line);
  if (rest.length === 0) return null;
  return (
    <p className="dim approval-plan">
      Afterwards the script plans: {rest.map(({ tool, line: at }) => `${visible(tool)} (line ${at})`).join(', ')}
    </p>
  );
}

interface DecisionFormProps {
  readonly approval: Approval;
  readonly card: RefObject<HTMLElement | null>;
  readonly mode: Mode;
  readonly setMode: (mode: Mode) => void;
}

function DecisionForm({ approval, card, mode, setMode }: DecisionFormProps) {
  const form = useDecision(approval, mode);
  const covers = useWorkspaceRule(approval);
  const { send, isSending } = form;
  const { readiness, mayDecide } = useDecisionGuard(
    approval.approvalId,
    card,
    mode,
    mode === 'decide' && !isSending
      ? { a: () => void send('approve'), e: () => setMode('edit'), d: () => setMode('deny') }
      : {},
  );
  const hasKeys = mode === 'decide' && readiness.keys !== 'unfocused';
  const button = { mayDecide, isWaiting: isSending || readiness.buttons === 'settling' };
  return (
    <div className="decision">
      {mode === 'edit' && <EditArguments approval={approval} form={form} />}
      {mode === 'deny' && <DenyNote form={form} mayDecide={mayDecide} />}
      {mode === 'decide' && <RememberedRule approval={approval} form={form} covers={covers} />}
      {form.error !== undefined && (
        <p className="error-text" role="alert">
          {form.error}
        </p>
      )}
      <div className="decision-buttons" data-keys={hasKeys ? readiness.keys : undefined}>
        {mode === 'decide' ? (
          <>
            <RememberChoice approval={approval} form={form} covers={covers} />
            <span className="space" />
            <Choices button={button} hasKeys={hasKeys} setMode={setMode} send={send} />
          </>
        ) : (
          <>
            <span className="space" />
            <button type="button" onClick={() => setMode('decide')} disabled={isSending}>
              Back
            </button>
            <Confirmation button={button} mode={mode} form={form} />
          </>
        )}
      </div>
      {hasKeys && readiness.keys === 'hidden' && (
        <p className="dim decision-hint">Keys work when the whole card is in view.</p>
      )}
    </div>
  );
}

type ButtonState = Pick<ComponentProps<typeof DecisionButton>, 'mayDecide' | 'isWaiting'>;

interface ChoicesProps {
  readonly button: ButtonState;
  /** Whether the keys go to the card. */
  readonly hasKeys: boolean;
  readonly setMode: (mode: Mode) => void;
  readonly send: (decision: 'approve' | 'deny') => Promise<void>;
}

function Choices({ button, hasKeys, setMode, send }: ChoicesProps) {
  const key = (letter: string) => ({ hasKey: true, shortcut: hasKeys ? letter : undefined });
  return (
    <>
      <DecisionButton {...button} {...key('d')} onDecide={() => setMode('deny')}>
        Deny…
      </DecisionButton>
      <DecisionButton {...button} {...key('e')} onDecide={() => setMode('edit')}>
        Edit…
      </DecisionButton>
      <DecisionButton {...button} {...key('a')} className="primary" onDecide={() => void send('approve')}>
        Approve
      </DecisionButton>
    </>
  );
}

interface ConfirmationProps {
  readonly button: ButtonState;
  readonly mode: 'edit' | 'deny';
  readonly form: DecisionState;
}

/** The button that sends the edited call, or the denial. */
function Confirmation({ button, mode, form: { send, problems } }: ConfirmationProps) {
  return mode === 'deny' ? (
    <DecisionButton {...button} className="danger" onDecide={() => void send('deny')}>
      Deny
    </DecisionButton>
  ) : (
    <DecisionButton
      {...button}
      className="primary"
      onDecide={() => void send('approve')}
      disabled={problems.length > 0}
    >
      Approve the edited call
    </DecisionButton>
  );
}

type DecisionState = ReturnType<typeof useDecision>;

function useDecision(approval: Approval, mode: Mode) {
  const { client, approvals, notice } = useSession();
  const [note, setNote] = useState('');
  const [text, setText] = useState(() => pretty(approval.inputJson));
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [remember, setRemember] = useState<Remember>();
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  const send = async (decision: 'approve' | 'deny') => {
    if (isSending) return;
    setSending(true);
    setError(undefined);
    try {
      const input = mode === 'edit' ? { input: JSON.parse(text) as unknown } : {};
      const body: Decision = {
        decision,
        ...input,
        ...(decision === 'deny' && note.trim() !== '' ? { note: note.trim() } : {}),
        ...(decision === 'approve' && mode === 'decide' && remember !== undefined ? { remember } : {}),
      };
      await client.approvals.decide(approval.approvalId, body);
      notice.set(`${approval.tool}: ${decision === 'approve' ? 'approved' : 'denied'}`);
    } catch (failure) {
      if (failure instanceof ProblemError && failure.status === 409)
        notice.set('Another user or page has decided this call.');
      else setError(errorText(failure));
    }
    await approvals.refresh();
    setSending(false);
  };
  return { note, setNote, text, setText, problems, setProblems, remember, setRemember, error, isSending, send };
}

function EditArguments({ approval, form }: { readonly approval: Approval; readonly form: DecisionState }) {
  const schema = useSchema(approval);
  const hasTexts = longTexts(approval.input).length > 0;
  const [asJson, setAsJson] = useState(!hasTexts);
  if (schema === 'loading') return <p className="dim">Loading the editor…</p>;
  const onChange = (text: string, problems: readonly string[]) => {
    form.setText(text);
    form.setProblems(problems);
  };
  return (
    <>
      <Suspense fallback={<p className="dim">Loading the editor…</p>}>
        {asJson ? (
          <JsonEditor text={form.text} original={pretty(approval.inputJson)} schema={schema} onChange={onChange} />
        ) : (
          <TextEditor text={form.text} schema={schema} onChange={onChange} />
        )}
      </Suspense>
      {hasTexts && (
        <button type="button" className="link" onClick={() => setAsJson(!asJson)} disabled={form.problems.length > 0}>
          {asJson ? 'Edit as text' : 'Edit as JSON'}
        </button>
      )}
      <ul className="problems" aria-live="polite">
        {form.problems.map((problem) => (
          <li key={problem} className="error-text">
            {problem}
          </li>
        ))}
      </ul>
    </>
  );
}

/**
 * The schema of the tool's arguments; `loading` until the server has answered; undefined if the server does not know
 * the tool, or if a request fails.
 */
function useSchema(approval: Approval): Tool['inputSchema'] | undefined | 'loading' {
  const { client } = useSession();
  const [schema, setSchema] = useState<Tool['inputSchema'] | undefined | 'loading'>('loading');
  useEffect(() => {
    const load = async () => {
      const { agentId } = await client.runs.get(approval.runId);
      const { data } = await client.tools.list(agentId === undefined ? {} : { agentId });
      return data.find(({ name }) => name === approval.tool)?.inputSchema;
    };
    load().then(setSchema, () => setSchema(undefined));
  }, [client, approval.runId, approval.tool]);
  return schema;
}

interface DenyNoteProps {
  readonly form: DecisionState;
  readonly mayDecide: (event: Event) => boolean;
}

function DenyNote({ form, mayDecide }: DenyNoteProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <label className="field">
      Reason (the model will see it) <span className="dim">optional</span>
      <textarea
        ref={field}
        rows={2}
        value={form.note}
        onChange={(event) => form.setNote(event.target.value)}
        onKeyDown={(event) => {
          const isSend = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
          if (isSend && mayDecide(event.nativeEvent)) void form.send('deny');
        }}
      />
    </label>
  );
}

interface RememberProps {
  readonly approval: Approval;
  readonly form: DecisionState;
  /** The calls that a rule for the workspace would allow; undefined if the user cannot store a rule. */
  readonly covers: string | undefined;
}

function RememberChoice({ approval, form, covers }: RememberProps) {
  return (
    <label className="remember">
      <span className="dim">Applies to</span>
      <select
        value={form.remember ?? ''}
        onChange={(event) => form.setRemember(event.target.value === '' ? undefined : (event.target.value as Remember))}
      >
        <option value="">this call only</option>
        <option value="script">every {approval.tool} of this script</option>
        {approval.planned && <option value="plan">the planned calls with these arguments</option>}
        {covers !== undefined && <option value="workspace">always in this workspace…</option>}
      </select>
    </label>
  );
}

/** Everything else that an approval allows. It belongs to the facts that the user decides about. */
function RememberedRule({ approval: { tool }, form: { remember }, covers = '' }: RememberProps) {
  if (remember === undefined) return null;
  const rules = {
    script: `every call of ${visible(tool)} that this script makes, with any arguments`,
    plan: `the calls of ${visible(tool)} that the script plans with these arguments`,
    workspace: `from now on, in every conversation of this workspace: ${visible(covers)}`,
  };
  return (
    <p className="remembered-rule" data-read>
      Approving also allows {rules[remember]}.
    </p>
  );
}

/** The calls that a rule for the workspace would allow; undefined if the user cannot store a rule. */
function useWorkspaceRule({ approvalId }: Approval): string | undefined {
  const { client } = useSession();
  const [covers, setCovers] = useState<string>();
  useEffect(() => {
    const stop = new AbortController();
    client.approvals.rule(approvalId, { signal: stop.signal }).then(setCovers, () => undefined);
    return () => stop.abort();
  }, [client, approvalId]);
  return covers;
}
