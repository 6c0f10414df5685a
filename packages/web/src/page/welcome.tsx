import { useState, type ReactNode } from 'react';
import type { Agent } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { Link } from './link.tsx';
import { Composer } from './composer.tsx';
import type { Prompt } from './prompt.ts';
import { submitPrompt } from './submit-prompt.ts';

const DEMO_PROMPT = 'Give me a tour, and approve the guest book.';

type Mode = 'enabled' | 'dry-run';

/** A new conversation. */
export function Welcome({ menuButton }: { readonly menuButton: ReactNode }) {
  const { agents: polled } = useSession();
  const agents = useStore(polled.store).value ?? [];
  const [chosen, setChosen] = useState<string>();
  const [mode, setMode] = useState<Mode>('enabled');
  const { start, error } = useStart(mode);
  const agentId = chosen ?? agents.find(({ isDefault }) => isDefault)?.agentId;
  const agent = agents.find((candidate) => candidate.agentId === agentId);
  const hasDemo = agents.some((candidate) => candidate.agentId === 'demo');
  return (
    <main className="main welcome" id="conversation" tabIndex={-1}>
      <header className="main-head">{menuButton}</header>
      <div className="welcome-body">
        <h1>What should be done?</h1>
        <p className="dim">
          The agent writes a script, and you see each of its calls. Calls with effects wait for you.
        </p>
        <Composer onSend={(prompt) => start(prompt, agentId)} autoFocus placeholder="Ask for something …" />
        {error !== undefined && (
          <p className="error-text" role="alert">
            {error}
          </p>
        )}
        <div className="welcome-options">
          <AgentChoice agents={agents} agentId={agentId} onChoose={setChosen} />
          <ModeChoice mode={mode} onChoose={setMode} />
        </div>
        {agent?.description !== undefined && <p className="dim agent-about">{agent.description}</p>}
        {hasDemo && <Demo onStart={() => void start({ text: DEMO_PROMPT, attachments: [] }, 'demo')} />}
      </div>
    </main>
  );
}

/** Starts a conversation, and shows it. */
function useStart(mode: Mode) {
  const session = useSession();
  const [error, setError] = useState<string>();
  const start = async (prompt: Prompt, agentId: string | undefined) => {
    setError(undefined);
    try {
      const { threadId } = await submitPrompt(session, prompt, {
        ...(agentId === undefined ? {} : { agentId }),
        ...(mode === 'dry-run' ? { overrides: { mode } } : {}),
      });
      session.router.go({ page: 'thread', threadId });
      return true;
    } catch (failure) {
      setError(errorText(failure));
      return false;
    }
  };
  return { start, error };
}

interface AgentChoiceProps {
  readonly agents: readonly Agent[];
  readonly agentId: string | undefined;
  readonly onChoose: (agentId: string) => void;
}

function AgentChoice({ agents, agentId, onChoose }: AgentChoiceProps) {
  return (
    <label>
      <span className="dim">Agent</span>
      <select value={agentId ?? ''} onChange={(event) => onChoose(event.target.value)}>
        {agents.map(({ agentId: id, name, problem }) => (
          <option key={id} value={id} disabled={problem !== undefined}>
            {name}
            {problem === undefined ? '' : ' (needs a key)'}
          </option>
        ))}
      </select>
    </label>
  );
}

function ModeChoice({ mode, onChoose }: { readonly mode: Mode; readonly onChoose: (mode: Mode) => void }) {
  return (
    <label>
      <span className="dim">Mode</span>
      <select value={mode} onChange={(event) => onChoose(event.target.value as Mode)}>
        <option value="enabled">Run scripts</option>
        <option value="dry-run">Check scripts, run nothing</option>
      </select>
    </label>
  );
}

function Demo({ onStart }: { readonly onStart: () => void }) {
  return (
    <section className="demo" aria-label="Demo">
      <div>
        <h2>New here?</h2>
        <p>Watch a script read files side by side, then approve one harmless call. The demo needs no key.</p>
        <p>
          <Link to={{ page: 'settings', section: 'models' }}>Connect a model</Link> to ask for work of your own.
        </p>
      </div>
      <button type="button" className="primary" onClick={onStart}>
        Start the demo
      </button>
    </section>
  );
}
