import { nameTokens } from '../text/nearest-names.js';

/** Words that say nothing about a tool. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  'a about after all am an and any are as at be been before by can could did do does for from had has have how i if in into is it its just like me my need needed no not now of on onto or our out over please same should so some something than that the their them then there these they this those to too us using via want was we were what when where which while who whom whose why will with would you your'.split(
    ' ',
  ),
);

/** Words of one line stand for each other in the names and descriptions of tools, and in searches for them. */
const SYNONYMS = `
delete remove erase drop discard destroy trash wipe clear purge rm
get fetch retrieve read load show view see download info detail
open navigate visit goto
list enumerate browse ls
create add make new insert register start init generate build mkdir
update edit change modify set adjust rename rewrite replace
save write store keep
search find lookup look query locate discover seek
send post deliver submit publish push
stop cancel abort end halt terminate kill close
run execute launch invoke trigger perform evaluate
copy duplicate clone fork
move transfer relocate mv
merge combine join
split divide cut
convert transform translate turn export
format prettify beautify indent
compare diff difference
folder directory dir
file document doc
email mail inbox
message chat dm text comment reply note post tweet
meeting event appointment calendar
booking reservation reserve book schedule
repository repo codebase
invoice bill charge
refund reimburse return
pay payment charge purchase buy order checkout
sell sale trade
customer client buyer
price cost quote rate fee value worth
picture image photo screenshot
type fill enter input
choose pick select option
click press tap
hover mouse pointer
user person people member account employee contact colleague coworker
boss manager organization hierarchy
ticket issue bug task todo
finish done complete tick
pull pr merge
page website site url link web tab
database db table sql
chart graph plot diagram visualization picture draw
outline mindmap tree
weather forecast temperature rain sunny cloudy umbrella climate
news article headline
stock share equity ticker
crypto bitcoin coin asset
log history audit trace record output
error failure fail exception crash problem break
outage anomaly downtime
metric statistic stats analytics usage report
average mean
multiply product times
sum total add
summary summarize overview
review feedback rating opinion sentiment
approve accept confirm allow
reject decline deny refuse
lock freeze disable block deactivate suspend
unlock enable activate unblock restore
assign owner assignee responsible works
label tag category
deploy release ship publish version changelog
newest latest recent
key secret token credential password
permission role access right privilege
size length count number amount big large
status state progress health
video movie film clip
subtitle caption transcript
speech voice audio narration sound
volume loud louder quiet
place location map address
restaurant dinner table meal
money balance fund cash budget
limit cap maximum
team group organization org
test check verify validate
time clock hour timezone
random raffle shuffle dice
paper literature study research publication
library package dependency module artifact jar
container docker
lawyer attorney counsel
doctor physician clinic
house home property apartment
car vehicle auto
flight plane airline
hotel room accommodation stay
loan mortgage credit
salary wage income
`;

/** Returns the stems of the words of a text, in order. */
export function searchWords(text: string): string[] {
  return nameTokens(text).map(stem);
}

/** Returns the stems of the words of a query, without words that say nothing, unless it has no others. */
export function queryWords(query: string): string[] {
  const tokens = nameTokens(query);
  const telling = tokens.filter((token) => !STOP_WORDS.has(token));
  return (telling.length === 0 ? tokens : telling).map(stem);
}

/** Returns the stems that stand for the same as this stem. */
export function wordSynonyms(word: string): ReadonlySet<string> {
  return SYNONYMS_OF.get(word) ?? NONE;
}

const NONE: ReadonlySet<string> = new Set();

/** Endings of English words, longest first. */
const ENDINGS = /(?:ations?|itions?|ions?|ings?|ments?|ers?|ors?|ed|ly|es|e|s|y|al)$/u;
const VOWEL = /[aeiouy]/u;
const MIN_STEM = 3;

/**
 * Returns a common beginning of the forms of an English word: `create`, `creating` and `creation`; `query` and `queries`;
 * `run` and `running`. It need not be a word.
 */
function stem(word: string): string {
  let rest = word.length > MIN_STEM && word.endsWith('ies') ? `${word.slice(0, -3)}y` : word;
  if (rest.endsWith('ss')) return rest;
  const end = ENDINGS.exec(rest);
  if (end !== null && end.index >= MIN_STEM && VOWEL.test(rest.slice(0, end.index))) rest = rest.slice(0, end.index);
  const last = rest.at(-1)!;
  const isDoubled = rest.length > MIN_STEM && rest.at(-2) === last && !'lsz'.includes(last) && !VOWEL.test(last);
  return isDoubled ? rest.slice(0, -1) : rest;
}

const SYNONYMS_OF = new Map<string, Set<string>>();
for (const line of SYNONYMS.trim().split('\n')) {
  const words = line.split(' ').map(stem);
  for (const word of words) {
    const others = SYNONYMS_OF.get(word) ?? new Set();
    for (const other of words) if (other !== word) others.add(other);
    SYNONYMS_OF.set(word, others);
  }
}
