import { useState, type FormEvent } from 'react';
import type { Provider } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { plural } from '../view/format.ts';
import { useLoaded } from './use-loaded.ts';

/** Connects the providers of models. The page sends a key to the server, and never gets it back. */
export function Models() {
  const { client } = useSession();
  const [version, setVersion] = useState(0);
  const { value: providers, error } = useLoaded(() => client.providers.list(), String(version));
  return (
    <section aria-label="Models">
      <p className="dim">
        The server tests a key with a request that costs nothing, stores it for its own user alone, and sends it to the
        provider only. Runs that begin later use it.
      </p>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {providers?.length === 0 && (
        <p className="empty">This server stores no keys: its operator sets them in its environment.</p>
      )}
      {providers?.map((provider) => (
        <ProviderEntry
          key={provider.provider}
          provider={provider}
          onChange={() => setVersion((before) => before + 1)}
        />
      ))}
    </section>
  );
}

const STATES = {
  none: 'not connected',
  stored: 'connected',
  environment: 'connected by a variable of the server',
} as const;

interface ProviderEntryProps {
  readonly provider: Provider;
  readonly onChange: () => void;
}

function ProviderEntry({ provider, onChange }: ProviderEntryProps) {
  const { name, key: source } = provider;
  const { client, agents, notice } = useSession();
  const [models, setModels] = useState<readonly string[]>();
  const changed = (offered?: readonly string[]) => {
    setModels(offered);
    onChange();
    void agents.refresh();
  };
  const remove = async () => {
    try {
      await client.providers.remove(provider.provider);
      notice.set(`The key stays valid at ${name} until you revoke it there.`);
    } catch (error) {
      notice.set(errorText(error));
    }
    changed();
  };
  return (
    <article className="card setting" aria-label={name}>
      <div className="setting-row">
        <h2>
          {name} <span className="tag">{STATES[source]}</span>
        </h2>
        {source === 'stored' && (
          <button type="button" aria-label={`Remove the key of ${name}`} onClick={() => void remove()}>
            Remove
          </button>
        )}
      </div>
      <KeyForm provider={provider} onConnected={changed} />
      {models !== undefined && (
        <>
          <p role="status">
            {name} accepts the key, and offers {plural(models.length, 'model')}.
          </p>
          <ul className="model-list" aria-label={`Models of ${name}`}>
            {models.map((model) => (
              <li key={model}>
                <code>{model}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </article>
  );
}

interface KeyFormProps {
  readonly provider: Provider;
  readonly onConnected: (models: readonly string[]) => void;
}

function KeyForm({ provider: { provider, name, key: source }, onConnected }: KeyFormProps) {
  const { client } = useSession();
  const [key, setKey] = useState('');
  const [isTesting, setTesting] = useState(false);
  const [problem, setProblem] = useState<string>();
  const connect = async (event: FormEvent) => {
    event.preventDefault();
    setTesting(true);
    setProblem(undefined);
    try {
      onConnected(await client.providers.connect(provider, key));
      setKey('');
    } catch (error) {
      setProblem(errorText(error));
    }
    setTesting(false);
  };
  return (
    <>
      <form className="key-form" onSubmit={(event) => void connect(event)}>
        <input
          type="password"
          autoComplete="off"
          spellCheck={false}
          maxLength={4096}
          aria-label={`Key of ${name}`}
          placeholder={source === 'none' ? 'Key' : 'Another key'}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <button type="submit" className="primary" disabled={key.trim() === '' || isTesting}>
          {isTesting ? 'Testing…' : 'Test and store'}
        </button>
      </form>
      {problem !== undefined && (
        <p className="error-text" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
