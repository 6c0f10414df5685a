/** Pages about swifts, as a service returns them: Markdown of 12 to 40 KB, the same in every run. */

const PLACES = ['Utrecht', 'Bern', 'Ghent', 'Leeds', 'Turin', 'Malmö', 'Graz', 'Lyon', 'Porto', 'Riga'];
const SENTENCES = [
  (n, place) => `In ${place}, ${n} pairs were counted at ${Math.ceil(n / 3)} buildings during the second week of June.`,
  (n, place) =>
    `Volunteers in ${place} reported screaming parties of up to ${Math.ceil(n / 4)} birds above the old roofs.`,
  (n) => `A brood takes between ${38 + (n % 6)} and ${46 + (n % 9)} days to fledge, which depends on the weather.`,
  (n, place) =>
    `The survey of ${place} used the same ${Math.ceil(n / 5)} fixed points as before, so its counts can be compared.`,
  (n) => `Of ${n} boxes under eaves, ${Math.ceil(n / 6)} were used, most of them in their third summer or later.`,
  (n, place) =>
    `Builders who close gaps under tiles remove nests that were used for decades; ${place} lost ${Math.ceil(n / 7)} of them in one year.`,
  () => 'Insects drift at heights that cannot be seen from the ground, and the birds follow them around storms.',
  (n) => `Ringed adults came back to within ${n % 9} metres of the place where they had bred the year before.`,
];
const HEADINGS = ['Method', 'Counts', 'Buildings', 'Weather', 'Food', 'Boxes', 'Trend', 'What follows'];

/** One statement of each page that a summary must contain. */
export const FACTS = [
  'Breeding pairs in the surveyed towns fell by 58 percent between 1995 and 2023.',
  'Nest boxes with a sound lure were occupied in 41 percent of all cases, those without one in 9 percent.',
  'Since 2021 every renovated roof in the canton must keep at least two entrances for each lost one.',
];

const PAGES = [
  ['https://counts.birds.example/swifts/trend', 'Swifts in towns: a count of thirty years', 12_000],
  ['https://boxes.birds.example/guide/nest-boxes', 'Do nest boxes help swifts?', 26_000],
  ['https://city.example/law/roofs-and-swifts', 'Roofs, renovation and the law', 40_000],
].map(([url, title, length], index) => ({ url, title, markdown: markdownOf(title, length, index) }));

const OTHERS = ['A swift in the hand', 'Swifts over the stadium'].map((title, index) => ({
  url: `https://letters.example/${index}`,
  title,
  markdown: markdownOf(title, 10_000, index + 7),
}));

/** The results of the search, the best first. */
export const RESULTS = [...PAGES, ...OTHERS];
export const URLS = PAGES.map(({ url }) => url);

function markdownOf(title, length, page) {
  const lines = [`# ${title}`];
  let size = title.length;
  for (let at = 0; size < length; at++) {
    const line = lineOf(at, page, size >= length / 2 && !lines.includes(FACTS[page]));
    lines.push(line);
    size += line.length + 2;
  }
  return lines.join('\n\n');
}

/** Every sixth line is a heading. The fact is in the middle of its page. */
function lineOf(at, page, isMiddle) {
  if (isMiddle && FACTS[page] !== undefined) return FACTS[page];
  if (at % 6 === 5) return `## ${HEADINGS[(at + page) % HEADINGS.length]} ${Math.ceil(at / 6)}`;
  const sentences = Array.from({ length: 4 }, (_, index) => {
    const seed = at * 31 + index * 17 + page * 7;
    return SENTENCES[seed % SENTENCES.length]((seed * 13) % 97, PLACES[(seed * 3) % PLACES.length]);
  });
  const link = at % 4 === 0 ? ` See [the table of ${1990 + (at % 30)}](https://birds.example/tables/${at}).` : '';
  return sentences.join(' ') + link;
}
