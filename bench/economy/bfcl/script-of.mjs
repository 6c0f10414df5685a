import { serviceTool } from './services/index.mjs';

/**
 * The calls as a script, as a model writes it: data for later calls is passed on, conditions are explicit, and readable
 * results are returned. A confirmation is returned only if there is no other result.
 *
 * @param {readonly import('./tasks.mjs').Call[]} calls
 */
export function scriptOf(calls) {
  const names = namesOf(calls);
  const shown = calls.map((call, index) => isShown(call, isNeeded(calls, index)));
  if (!shown.includes(true)) shown[calls.length - 1] = true;
  const lines = [];
  for (let index = 0; index < calls.length;) {
    const end = endOfBlock(calls, index);
    const guards = calls[index].when !== undefined && shown.slice(index, end).includes(true);
    const body = calls.slice(index, end).map((call, inner) => {
      const at = index + inner;
      const written = `await ${callText(call, names)}`;
      if (isLastAndAlone(shown, at)) return `return ${written};`;
      return shown[at] || isNeeded(calls, at) ? `const ${names[at]} = ${written};` : `${written};`;
    });
    lines.push(...underCondition(calls[index].when, body, { names, guards, so: shownNames(shown, names, index) }));
    index = end;
  }
  if (!isLastAndAlone(shown, calls.length - 1)) lines.push(`return ${together(shownNames(shown, names))};`);
  return lines.join('\n');
}

/** The name of each result; a second result of the same kind gets a number. */
function namesOf(calls) {
  const counts = new Map();
  return calls.map(({ tool }) => {
    const { as = 'done' } = serviceTool(tool);
    const count = (counts.get(as) ?? 0) + 1;
    counts.set(as, count);
    return count === 1 ? as : `${as}${count}`;
  });
}

function isShown({ tool }, needed) {
  const { as, isPassedOn = false } = serviceTool(tool);
  return as !== undefined && !(isPassedOn && needed);
}

function isNeeded(calls, index) {
  return calls.some(({ flows = {}, when = '' }) => [...Object.values(flows), when].join(' ').includes(`$${index}.`));
}

/** Consecutive calls under the same condition are grouped. */
function endOfBlock(calls, index) {
  const { when } = calls[index];
  if (when === undefined) return index + 1;
  const length = calls.slice(index).findIndex((call) => call.when !== when);
  return length < 0 ? calls.length : index + length;
}

function isLastAndAlone(shown, index) {
  return index === shown.length - 1 && shown[index] && shown.indexOf(true) === index;
}

function shownNames(shown, names, end = names.length) {
  return names.slice(0, end).filter((_, index) => shown[index]);
}

/** If the script reads a result under the condition, it ends early unless the condition holds. */
function underCondition(when, body, { names, guards, so }) {
  if (when === undefined) return body;
  const condition = withNames(when, names);
  if (guards) return [`if (!(${condition})) return ${together(so)};`, ...body];
  return body.length === 1 ? [`if (${condition}) ${body[0]}`] : [`if (${condition}) {`, ...body.map(indented), '}'];
}

function indented(line) {
  return `  ${line}`;
}

function together(names) {
  return names.length === 1 ? names[0] : `{ ${names.join(', ')} }`;
}

function callText({ tool, args, flows = {} }, names) {
  const members = Object.entries(args).map(([name, value]) =>
    flows[name] === undefined ? `${name}: ${literal(value)}` : `${name}: ${withNames(flows[name], names)}`,
  );
  return `tools.${tool}(${members.length === 0 ? '' : `{ ${members.join(', ')} }`})`;
}

function withNames(expression, names) {
  return expression.replaceAll(/\$(\d)(?=\.)/gu, (_, index) => names[Number(index)]);
}

/** A value as users write it in TypeScript. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object') {
    return `{ ${Object.entries(value)
      .map(([name, member]) => `${name}: ${literal(member)}`)
      .join(', ')} }`;
  }
  if (typeof value !== 'string') return String(value);
  const quoted = JSON.stringify(value);
  return value.includes("'") || value.includes('"') ? quoted : `'${quoted.slice(1, -1)}'`;
}
