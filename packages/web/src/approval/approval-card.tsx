import { lazy, Suspense, useEffect, useId, useRef, useState } from 'react';
import { ProblemError, type Approval, type Decision, type Tool } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { useNow } from '../parts/use-now.ts';
import { age } from '../view/format.ts';
import type { ScriptView } from '../view/types.ts';
import { ArgumentOrigins } from './argument-origins.tsx';
import { CallPreview, pretty } from './call-preview.tsx';
import { visible } from '../view/visible.ts';

const JsonEditor = lazy(() => import('./json-editor.tsx'));

/**
 * The next card takes the place of a decided one. Keys and clicks within this time, in ms, are ignored, because they
 * were meant for the decided card.
 */
const UNREAD_MS = 500;

type Remember = 'script' | 'plan' | 'workspace' | undefined;

interface ApprovalCardProps {
  readonly approval: Approval;
  /** The script that makes the call. */
  readonly script?: ScriptView | undefined;
  /** Whether the keys a, e and d apply to this card. */
  readonly isCurrent: boolean;
}

const EFFECTS = { read: 'reads', write: 'changes data', external: 'has external effects' } as const;

/** A call that waits for the user's decision. */
export function ApprovalCard({ approval, script, isCurrent }: ApprovalCardProps) {
  const { tool, effect, line, snippet, context, createdAt, agents = [] } = approval;
  const now = useNow(15_000);
  const titleId = useId();
  return (
    <article
      className="card approval"
      aria-labelledby={titleId}
      data-approval={approval.approvalId}
      data-current={isCurrent || undefined}
    >
      <header className="card-head">
        <span className="dot" data-status="suspended" />
        <h2 id={titleId}>
          <code>{visible(tool)}</code> waits for you
        </h2>
        <span className="tag" data-effect={effect}>
          {EFFECTS[effect]}
        </span>
        <span className="dim approval-age">
          {line !== undefined && `line ${line} · `}
          {age(createdAt, now)}
        </span>
      </header>
      {agents.length > 0 && (
        <p className="approval-context">A sub-agent asks: {agents.map((agent) => visible(agent)).join(' › ')}</p>
      )}
      {context !== undefined && <p className="approval-context">The script says: {visible(context)}</p>}
      <CallPreview approval={approval} />
      {script !== undefined && <ArgumentOrigins approval={approval} script={script} />}
      {snippet !== undefined && (
        <p className="approval-line">
          <span className="dim">line {line}</span> <code>{visible(snippet)}</code>
        </p>
      )}
      <RestOfPlan approval={approval} />
      <DecisionForm approval={approval} isCurrent={isCurrent} />
    </article>
  );
}

/** The planned calls after the pending call. */
function RestOfPlan({ approval: { plan = [], line = 0 } }: { readonly approval: Approval }) {
  const rest = plan.filter((call) => call.line > line);
  if (rest.length === 0) return null;
  return (
    <p className="dim approval-plan">
      Afterwards the script plans: {rest.map(({ tool, line: at }) => `${visible(tool)} (line ${at})`).join(', ')}
    </p>
  );
}

function DecisionForm({ approval, isCurrent }: Omit<ApprovalCardProps, 'script'>) {
  const form = useDecision(approval);
  const element = useRef<HTMLDivElement>(null);
  const { mode, setMode, send, isSending } = form;
  useApprovalKeys(isCurrent && mode === 'decide', {
    a: () => void send('approve'),
    e: () => setMode('edit'),
    d: () => setMode('deny'),
  });
  return (
    <div className="decision" ref={element}>
      {mode === 'edit' && <EditArguments approval={approval} form={form} />}
      {mode === 'deny' && <DenyNote form={form} />}
      {form.error !== undefined && (
        <p className="error-text" role="alert">
          {form.error}
        </p>
      )}
      <div className="decision-buttons">
        {mode === 'decide' && <RememberChoice approval={approval} form={form} />}
        <span className="space" />
        {mode !== 'decide' && (
          <button type="button" onClick={() => setMode('decide')} disabled={isSending}>
            Back
          </button>
        )}
        {mode === 'decide' && (
          <>
            <button type="button" onClick={() => setMode('deny')} disabled={isSending} aria-keyshortcuts="d">
              Deny… <kbd>d</kbd>
            </button>
            <button type="button" onClick={() => setMode('edit')} disabled={isSending} aria-keyshortcuts="e">
              Edit… <kbd>e</kbd>
            </button>
          </>
        )}
        {mode === 'deny' ? (
          <button type="button" className="danger" onClick={() => void send('deny')} disabled={isSending}>
            Deny
          </button>
        ) : (
          <button
            type="button"
            className="primary"
            onClick={() => void send('approve')}
            disabled={isSending || (mode === 'edit' && form.problems.length > 0)}
            aria-keyshortcuts="a"
          >
            {mode === 'edit' ? 'Approve the edited call' : 'Approve'} {mode === 'decide' && <kbd>a</kbd>}
          </button>
        )}
      </div>
    </div>
  );
}

type DecisionState = ReturnType<typeof useDecision>;

function useDecision(approval: Approval) {
  const { client, approvals, notice, decidedAt } = useSession();
  const [mode, setMode] = useState<'decide' | 'edit' | 'deny'>('decide');
  const [note, setNote] = useState('');
  const [text, setText] = useState(() => pretty(approval.inputJson));
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [remember, setRemember] = useState<Remember>();
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  const send = async (decision: 'approve' | 'deny') => {
    if (isSending || performance.now() - decidedAt.value < UNREAD_MS) return;
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
    decidedAt.set(performance.now());
    setSending(false);
  };
  return {
    mode,
    setMode,
    note,
    setNote,
    text,
    setText,
    problems,
    setProblems,
    remember,
    setRemember,
    error,
    isSending,
    send,
  };
}

function EditArguments({ approval, form }: { readonly approval: Approval; readonly form: DecisionState }) {
  const schema = useSchema(approval);
  if (schema === 'loading') return <p className="dim">Loading the editor …</p>;
  return (
    <>
      <Suspense fallback={<p className="dim">Loading the editor …</p>}>
        <JsonEditor
          text={form.text}
          original={pretty(approval.inputJson)}
          schema={schema}
          onChange={(text, problems) => {
            form.setText(text);
            form.setProblems(problems);
          }}
        />
      </Suspense>
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

function DenyNote({ form }: { readonly form: DecisionState }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <label className="field">
      Why not? The model reads your answer. <span className="dim">Optional.</span>
      <textarea
        ref={field}
        rows={2}
        value={form.note}
        onChange={(event) => form.setNote(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void form.send('deny');
        }}
      />
    </label>
  );
}

function RememberChoice({ approval, form }: { readonly approval: Approval; readonly form: DecisionState }) {
  const covers = useWorkspaceRule(approval);
  return (
    <label className="remember">
      <span className="dim">Applies to</span>
      <select
        value={form.remember ?? ''}
        onChange={(event) => form.setRemember(event.target.value === '' ? undefined : (event.target.value as Remember))}
      >
        <option value="">this call only</option>
        <option value="script">every {approval.tool} of this script</option>
        {approval.planned === true && <option value="plan">the planned calls with these arguments</option>}
        {covers !== undefined && <option value="workspace">always in this workspace: {covers}</option>}
      </select>
    </label>
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

/** Calls an action when its key is pressed outside of text fields. */
function useApprovalKeys(isActive: boolean, actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    if (!isActive) return undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTextField(event.target)) return;
      const action = latest.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [isActive]);
}

export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.shadowRoot !== null || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName);
}
