import { useState, type ReactNode } from 'react';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { Composer, type Prompt } from './composer.tsx';
import { submitPrompt } from './submit-prompt.ts';

const DEMO_PROMPT = 'Give me a tour, and approve the guest book.';

/** A new conversation. */
export function Welcome({ menuButton }: { readonly menuButton: ReactNode }) {
  const session = useSession();
  const agents = useStore(session.agents.store).value ?? [];
  const usable = agents.filter(({ problem }) => problem === undefined);
  const [chosen, setChosen] = useState<string>();
  const [mode, setMode] = useState<'enabled' | 'dry-run'>('enabled');
  const [error, setError] = useState<string>();
  const agentId = chosen ?? agents.find(({ isDefault }) => isDefault)?.agentId;
  const agent = agents.find((candidate) => candidate.agentId === agentId);
  const start = async (prompt: Prompt, agentOfPrompt = agentId) => {
    setError(undefined);
    try {
      const { threadId } = await submitPrompt(session, prompt, {
        ...(agentOfPrompt === undefined ? {} : { agentId: agentOfPrompt }),
        ...(mode === 'dry-run' ? { overrides: { mode } } : {}),
      });
      session.router.go({ page: 'thread', threadId });
      return true;
    } catch (failure) {
      setError(errorText(failure));
      return false;
    }
  };
  const hasDemo = usable.some((candidate) => candidate.agentId === 'demo');
  return (
    <main className="main welcome" id="conversation" tabIndex={-1}>
      <header className="main-head">{menuButton}</header>
      <div className="welcome-body">
        <h1>What should be done?</h1>
        <p className="dim">The agent writes a script, and you see each of its calls. Calls with effects wait for you.</p>
        <Composer onSend={start} autoFocus placeholder="Ask for something …" />
        {error !== undefined && (
          <p className="error-text" role="alert">
            {error}
          </p>
        )}
        <div className="welcome-options">
          <label>
            <span className="dim">Agent</span>
            <select value={agentId ?? ''} onChange={(event) => setChosen(event.target.value)}>
              {agents.map(({ agentId: id, name, problem }) => (
                <option key={id} value={id} disabled={problem !== undefined}>
                  {name}
                  {problem === undefined ? '' : ' (needs a key)'}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span className="dim">Mode</span>
            <select value={mode} onChange={(event) => setMode(event.target.value as typeof mode)}>
              <option value="enabled">Run scripts</option>
              <option value="dry-run">Check scripts, run nothing</option>
            </select>
          </label>
        </div>
        {agent?.description !== undefined && <p className="dim agent-about">{agent.description}</p>}
        {hasDemo && (
          <section className="demo" aria-label="Demo">
            <div>
              <h2>New here?</h2>
              <p>Watch a script read files side by side, then approve one harmless call. It needs no key.</p>
            </div>
            <button type="button" className="primary" onClick={() => void start({ text: DEMO_PROMPT, images: [] }, 'demo')}>
              Start the demo
            </button>
          </section>
        )}
      </div>
    </main>
  );
}
