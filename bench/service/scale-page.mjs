import { readFileSync } from 'node:fs';

const RESULTS = new URL('../results/', import.meta.url);

const OTHERS = ['scale-scripts', 'scale-tables', 'scale-streams', 'scale-queue'];

/** The tables of docs/explanation/scale.md, from the results of the rows. */
export function scaleTables() {
  const cost = rowsOf('scale').find(({ name }) => name === 'scale-cost').tables[0];
  const beside = rowsOf('scale').flatMap(linesBeside);
  const alone = OTHERS.flatMap((name) => rowsOf(name)).flatMap(lines);
  return {
    'scale-machine': `${machines().join('\n')}\n`,
    'scale-cost': table(cost),
    'scale-beside': table([['', '', 'median', 'worst 1 %', 'beside one process'], ...beside]),
    'scale-alone': table([['', '', 'median', 'worst 1 %', 'budget'], ...alone]),
  };
}

function rowsOf(name) {
  return read(name).rows;
}

function read(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, RESULTS), 'utf8'));
}

function machines() {
  const isBusy = ['scale', ...OTHERS].some((name) => read(name).machine.loadBefore[0] > 2 * read(name).machine.cores);
  const warning =
    'This machine was busy with other work, so all times are far too high. Only ratios and counts say something.';
  return [...placesOfRows(), ...(isBusy ? ['', warning] : [])];
}

function placesOfRows() {
  return ['scale', ...OTHERS].map((name) => {
    const { date, quick, machine } = read(name);
    const { cpu, cores, node, loadBefore } = machine;
    const length = quick === true ? ', a short run' : '';
    return `- \`${name}\`: ${date.slice(0, 10)}, ${cpu}, ${cores} cores, Node ${node.slice(1)}, load ${loadBefore.join(' ')} before the start${length}`;
  });
}

function linesBeside({ name, title, unit, figures, ratios }) {
  if (name === 'scale-cost') return [];
  return figures.map((figure, index) => {
    const times = ratios.find((ratio) => ratio.name === figure.name)?.times;
    const word =
      times === undefined ? '' : `${short(times >= 1 ? times : 1 / times)}× ${times >= 1 ? 'worse' : 'better'}`;
    return [index === 0 ? `${title} (${unit})` : '', figure.name, short(figure.median), short(figure.p99), word];
  });
}

function lines({ title, unit, figures, budget, limitOf }) {
  const word = budget === undefined ? '' : `${limitOf === 'p99' ? 'worst 1 %' : 'median'} ${budget.limit}`;
  return figures.map(({ name, median, p99 }, index) => [
    index === 0 ? `${title} (${unit})` : '',
    name === 'toolscript' ? 'PostgreSQL' : name,
    short(median),
    short(p99),
    index === 0 ? word : '',
  ]);
}

function table([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

function short(value) {
  if (value >= 100) return String(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
