import { useState } from 'react';

interface SignInProps {
  readonly onToken: (token: string) => void;
  readonly problem?: string | undefined;
}

/** Asks for a token if the address contains none. */
export function SignIn({ onToken, problem }: SignInProps) {
  const [token, setToken] = useState('');
  return (
    <main className="sign-in">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          const text = token.trim();
          onToken(/#token=(.+)/su.exec(text)?.[1] ?? text);
        }}
      >
        <h1>Toolscript</h1>
        <p>
          Open the address that <code>toolscript serve</code> printed, or paste its token. An API key works too.
        </p>
        {problem !== undefined && (
          <p className="error-text" role="alert">
            {problem}
          </p>
        )}
        <label className="field">
          Token
          <input
            type="password"
            autoComplete="off"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <button type="submit" className="primary">
          Continue
        </button>
      </form>
    </main>
  );
}
