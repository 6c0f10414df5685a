/** The conditions of every figure, printed with every report. */
const CONTRACT =
  'Every script gets a fresh, isolated sandbox in every column. Columns run in turn, in blocks: A B C, B C A, …\n' +
  'Figures are the median of the block medians, the worst hundredth of all samples, and the lowest and highest\n' +
  'block median. "beside ours" is the median over the rounds. Every answer that was timed was checked.';

export function reportHead({ machine, quick, contenders, missing }) {
  const { cpu, cores, memoryGb, system, node, loadBefore } = machine;
  const lines = [
    `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, node ${node}, load ${loadBefore.join(' ')}`,
    ...(quick ? ['Quick: few samples, rough figures.'] : []),
    '',
    CONTRACT,
    '',
    ...contenders.map(({ name, version, note }) => `${[name, version].filter(Boolean).join(' ')}: ${note}`),
    ...missing.map(({ name, reason }) => `${name}: not measured: ${reason}`),
  ];
  return `${lines.join('\n')}\n`;
}

export function reportRow(row, missing) {
  const head = `\n${row.name} · ${row.title} [${row.unit}]`;
  if (row.absent !== undefined) return `${head}\n  not measured: ${row.absent}\n`;
  const table = [
    ['', 'median', row.better === 'lower' ? 'p99' : 'p1', 'blocks', 'samples', 'beside ours'],
    ...row.figures.map((figure) => columnsOf(figure, row)),
  ];
  const besidePeers =
    row.selfRatio !== true && (row.atLeast !== undefined || row.figures.some(({ role }) => role === 'part'));
  const absent = (besidePeers ? missing : []).map(({ name, reason }) => `  ${name}: not measured: ${reason}`);
  const lines = [
    head,
    ...aligned(table),
    ...absent,
    ...(row.notes ?? []).map((note) => `  (${note})`),
    ...(row.tables ?? []).flatMap((table) => ['', ...aligned(table)]),
    ...verdicts(row),
  ];
  return `${lines.join('\n')}\n`;
}

export function reportEnd({ failures, unmet, compared }, seconds) {
  const lines = [
    '',
    `Measured for ${Math.round(seconds)} s. ${compared} ratios were compared with their budgets; ${failures.length} are beyond.`,
  ];
  for (const failure of failures) lines.push(`  beyond: ${failure}`);
  lines.push(`${unmet.length} absolute budgets are not met on this machine now.`);
  for (const failure of unmet) lines.push(`  not met: ${failure}`);
  return `${lines.join('\n')}\n`;
}

function columnsOf(figure, row) {
  const ratio = row.ratios.find(({ name }) => name === figure.name);
  return [
    [figure.name, figure.version].filter(Boolean).join(' '),
    number(figure.median),
    number(figure.p99),
    `${number(figure.low)}–${number(figure.high)}`,
    String(figure.samples),
    ratio === undefined ? '' : besideOurs(ratio),
  ];
}

/** `times`: the factor by which Toolscript is better. */
function besideOurs({ times, atLeast, holds }) {
  const text = times >= 1 ? `ours ${number(times)}× better` : `ours ${number(1 / times)}× worse`;
  return atLeast === undefined ? text : `${text} (budget ${atLeast}×: ${holds ? 'holds' : 'BEYOND'})`;
}

function verdicts({ budget, better, unit, limitOf }) {
  if (budget === undefined) return [];
  return [
    `  budget ${limitOf === undefined ? '' : `of the ${limitOf} `}${better === 'lower' ? '≤' : '≥'} ${number(budget.limit)} ${unit}: ${budget.holds ? 'holds' : 'NOT MET'}`,
  ];
}

function aligned(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  return table.map((row) =>
    `  ${row.map((cell, column) => (column === 0 || column === row.length - 1 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ')}`.trimEnd(),
  );
}

/** Three significant digits, thousands grouped. */
function number(value) {
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
  return String(Number(value.toPrecision(3)));
}
