type Mark = (text: string) => string;

/** Styles by meaning; without a terminal that shows colour they change nothing. */
export interface Style {
  readonly dim: Mark;
  readonly bold: Mark;
  readonly italic: Mark;
  readonly red: Mark;
  readonly green: Mark;
  readonly yellow: Mark;
  readonly cyan: Mark;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** `FORCE_COLOR` first, then `NO_COLOR`, then whether the stream is a terminal that is not `dumb`. */
export function wantsColour(isTerminal: boolean, environment: Environment): boolean {
  const forced = environment['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  const refused = environment['NO_COLOR'];
  if (refused !== undefined && refused !== '') return false;
  return isTerminal && environment['TERM'] !== 'dumb';
}

export function styleFor(hasColour: boolean): Style {
  const mark =
    (open: number, close: number): Mark =>
    (text) =>
      hasColour && text !== '' ? `\x1b[${open}m${text}\x1b[${close}m` : text;
  return {
    dim: mark(2, 22),
    bold: mark(1, 22),
    italic: mark(3, 23),
    red: mark(31, 39),
    green: mark(32, 39),
    yellow: mark(33, 39),
    cyan: mark(36, 39),
  };
}
