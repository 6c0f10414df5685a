'use client';

import { useChat } from '@ai-sdk/react';
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useState } from 'react';

export default function Page() {
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const [input, setInput] = useState('Fly me to the warmest of Oslo, Lisbon and Reykjavik.');
  return (
    <main>
      {messages.flatMap(({ id, role, parts }) =>
        parts.map((part, index) => {
          const key = `${id}-${index}`;
          if (part.type === 'text')
            return (
              <p key={key}>
                <b>{role}</b> {part.text}
              </p>
            );
          if (part.type !== 'tool-run_script') return null;
          const { code } = (part.input ?? {}) as { code?: string };
          return (
            <section key={key}>
              <pre>{code}</pre>
              {part.state === 'output-available' && <pre>{String(part.output)}</pre>}
              {part.state === 'approval-requested' &&
                ['Approve', 'Deny'].map((label) => (
                  <button
                    key={label}
                    onClick={() => addToolApprovalResponse({ id: part.approval.id, approved: label === 'Approve' })}
                  >
                    {label}
                  </button>
                ))}
            </section>
          );
        }),
      )}
      {error !== undefined && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text: input });
          setInput('');
        }}
      >
        <input aria-label="Prompt" size={60} value={input} onChange={({ target }) => setInput(target.value)} />
        <button disabled={status !== 'ready' || input === ''}>Send</button>
      </form>
    </main>
  );
}
