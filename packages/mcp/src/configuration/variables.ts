/** A reference in the forms that well-known clients accept: `${NAME}`, `${env:NAME}` or `${NAME:-default}`. */
const REFERENCE = /\$\{([^}]*)\}?/gu;
const NAME = /^(?:env:)?(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?$/su;

/** The configuration of a server is unusable. The message ends a sentence about the server. */
export class ConfigurationError extends Error {}

/**
 * Replaces references to environment variables. Throws a `ConfigurationError` for an invalid reference, and for a
 * variable that is not set and has no default.
 */
export function expandVariables(text: string, environment: Readonly<Record<string, string | undefined>>): string {
  return text.replaceAll(REFERENCE, (whole, inner: string) => {
    if (!whole.endsWith('}')) return whole;
    const { name, fallback } = NAME.exec(inner)?.groups ?? {};
    if (name === undefined)
      throw new ConfigurationError(`"${whole}" is not a reference to a variable; write \${NAME} or \${NAME:-default}`);
    const value = environment[name];
    if (value !== undefined && (value !== '' || fallback === undefined)) return value;
    if (fallback !== undefined) return fallback;
    throw new ConfigurationError(`the environment variable ${name} is not set; set it, or write \${${name}:-default}`);
  });
}
