import { useState, type ReactNode } from 'react';
import type { Tool } from '@toolscript/client';
import { CodeLines } from '../parts/code-lines.tsx';
import { Link } from '../page/link.tsx';
import { saveFile } from '../parts/save-file.ts';
import { feedbackLines } from '../state/feedback.ts';
import { foldsScripts, setFoldsScripts } from '../state/folding.ts';
import { setNotifications, wantsNotifications } from '../state/notifications.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { ApiKeys } from './api-keys.tsx';
import { AuditLog } from './audit-log.tsx';
import { Models } from './models.tsx';
import { SavedTexts } from './saved-texts.tsx';
import { RememberedRules } from './remembered-rules.tsx';
import { useLoaded } from './use-loaded.ts';

const SECTIONS = [
  { id: 'agents', title: 'Agents' },
  { id: 'models', title: 'Models' },
  { id: 'tools', title: 'Tools' },
  { id: 'keys', title: 'API keys' },
  { id: 'saved', title: 'Prompts and scripts' },
  { id: 'rules', title: 'Approvals' },
  { id: 'audit', title: 'Audit log' },
  { id: 'access', title: 'This browser' },
] as const;

interface SettingsPageProps {
  readonly section: string;
  readonly menuButton: ReactNode;
}

export default function SettingsPage({ section, menuButton }: SettingsPageProps) {
  return (
    <main className="main settings" id="conversation" tabIndex={-1}>
      <header className="main-head">
        {menuButton}
        <h1>Settings</h1>
      </header>
      <div className="scroller">
        <div className="column">
          <nav className="tabs" aria-label="Sections">
            {SECTIONS.map(({ id, title }) => (
              <Link key={id} to={{ page: 'settings', section: id }} aria-current={id === section ? 'page' : undefined}>
                {title}
              </Link>
            ))}
          </nav>
          {section === 'agents' && <Agents />}
          {section === 'models' && <Models />}
          {section === 'tools' && <Tools />}
          {section === 'keys' && <ApiKeys />}
          {section === 'saved' && <SavedTexts />}
          {section === 'rules' && <RememberedRules />}
          {section === 'audit' && <AuditLog />}
          {section === 'access' && <Access />}
        </div>
      </div>
    </main>
  );
}

function Agents() {
  const { agents } = useSession();
  const { value = [], error } = useStore(agents.store);
  return (
    <section aria-label="Agents">
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {value.map(({ agentId, name, description, model, isDefault, problem, capabilities }) => (
        <article key={agentId} className="card setting">
          <h2>
            {name} {isDefault && <span className="tag">default</span>}
          </h2>
          {description !== undefined && <p>{description}</p>}
          {problem !== undefined && <p className="warning-text">{problem}</p>}
          <p className="dim">
            {model} · scripts arrive {CARRIERS[capabilities.carrier]} · at most {capabilities.maxTurns} answers in a run
          </p>
        </article>
      ))}
    </section>
  );
}

const CARRIERS = {
  tool: 'as calls of a tool',
  custom: 'as calls of a custom tool',
  text: 'in the text',
  hosted: 'as code that the provider runs',
} as const;

function Tools() {
  const { client, agents } = useSession();
  const [agentId, setAgentId] = useState<string>();
  const [words, setWords] = useState('');
  const all = useStore(agents.store).value ?? [];
  const load = async () => (await client.tools.list(agentId === undefined ? {} : { agentId })).data;
  const { value: tools = [], error } = useLoaded(load, agentId ?? '');
  const found = tools.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(words.trim().toLowerCase()),
  );
  return (
    <section aria-label="Tools">
      <div className="filters">
        <label>
          <span className="dim">Agent</span>
          <select value={agentId ?? ''} onChange={(event) => setAgentId(event.target.value || undefined)}>
            <option value="">the default one</option>
            {all.map(({ agentId: id, name, problem }) => (
              <option key={id} value={id} disabled={problem !== undefined}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          aria-label="Search the tools"
          placeholder="Search"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <span className="dim">
          {found.length} of {tools.length}
        </span>
      </div>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {found.map((tool) => (
        <ToolEntry key={tool.name} tool={tool} />
      ))}
    </section>
  );
}

const APPROVALS: Readonly<Record<string, string>> = {
  never: 'runs without asking',
  always: 'always asks',
  policy: 'asks if it has effects',
  depends: 'asks depending on its arguments',
};

function ToolEntry({ tool }: { readonly tool: Tool }) {
  return (
    <details className="card call-entry">
      <summary>
        <code>{tool.name}</code>
        <span className="tag" data-effect={tool.effect}>
          {tool.effect}
        </span>
        <span className="cut dim">{tool.description}</span>
      </summary>
      <p>{tool.description}</p>
      <p className="dim">It {APPROVALS[tool.approval] ?? tool.approval}.</p>
      <h4>As the model reads it</h4>
      <CodeLines text={tool.declaration} label="Declaration" isScript />
      <h4>Schema of the arguments</h4>
      <CodeLines text={JSON.stringify(tool.inputSchema, null, 2)} label="Schema of the arguments" isScript />
      {tool.outputSchema !== undefined && (
        <>
          <h4>Schema of the result</h4>
          <CodeLines text={JSON.stringify(tool.outputSchema, null, 2)} label="Schema of the result" isScript />
        </>
      )}
    </details>
  );
}

function NotificationChoice() {
  const [isOn, setOn] = useState(wantsNotifications);
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => void setNotifications(event.target.checked).then(setOn)}
      />
      Notify me when a call waits while this page is hidden
    </label>
  );
}

function FoldingChoice() {
  const [isOn, setOn] = useState(foldsScripts);
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ target }) => {
          setFoldsScripts(target.checked);
          setOn(target.checked);
        }}
      />
      Show scripts that have ended as one line
    </label>
  );
}

function Access() {
  return (
    <section aria-label="This browser" className="card setting">
      <h2>Notifications</h2>
      <NotificationChoice />
      <h2>Conversations</h2>
      <FoldingChoice />
      <p>
        <button type="button" onClick={() => saveFile('feedback.jsonl', feedbackLines())}>
          Export the feedback as JSON Lines
        </button>
      </p>
      <h2>Access</h2>
      <p>
        The open tabs of this page share your token. “Sign out” removes the token from all of them, and so does closing
        them.
      </p>
    </section>
  );
}
