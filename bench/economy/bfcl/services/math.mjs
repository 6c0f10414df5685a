import { list, number, text, whole } from './schemas.mjs';

const numbers = (what) => list('number', `The numbers ${what}.`);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => sum(values) / values.length;
const UNITS = {
  value: number('The value to convert.'),
  unit_in: text('Unit that the value has.'),
  unit_out: text('Unit that the value gets.'),
};

/** A tool that returns one number. */
function calculation(name, does, takes, gives, of) {
  return {
    name,
    does,
    takes,
    gives: { result: number(gives) },
    as: 'result',
    run: (_, args) => ({ result: of(args) }),
  };
}

/** @type {import('./schemas.mjs').Service} */
export const math = {
  about: 'One of the tools of a mathematics service, which does sums of many kinds. What this tool does:',
  open: () => ({}),
  tools: [
    calculation(
      'absolute_value',
      'Gives a number without its sign.',
      { number: number('The number whose sign is left out.') },
      'The number without its sign.',
      ({ number: value }) => Math.abs(value),
    ),
    calculation(
      'add',
      'Adds a number to another one.',
      { a: number('One number.'), b: number('The other one.') },
      'Both numbers, added.',
      ({ a, b }) => a + b,
    ),
    calculation(
      'divide',
      'Divides a number by another one.',
      { a: number('The number that is divided.'), b: number('The number it is divided by.') },
      'What the division gives.',
      ({ a, b }) => a / b,
    ),
    calculation(
      'imperial_si_conversion',
      'Converts a value between imperial units and those of the SI.',
      UNITS,
      'The value in its new unit.',
      ({ value }) => value,
    ),
    calculation(
      'logarithm',
      'Gives the logarithm of a number, with as many digits as are asked for.',
      {
        value: number('The number whose logarithm is given.'),
        base: number('The base of the logarithm.'),
        precision: whole('How many digits the result has.'),
      },
      'The logarithm of the number to the base.',
      ({ value, base, precision }) => Number((Math.log(value) / Math.log(base)).toFixed(precision)),
    ),
    calculation(
      'max_value',
      'Finds the largest of some numbers.',
      { numbers: numbers('to find the largest of') },
      'The largest number.',
      ({ numbers: values }) => Math.max(...values),
    ),
    calculation(
      'mean',
      'Gives the mean of some numbers.',
      { numbers: numbers('to give the mean of') },
      'Mean of the numbers.',
      ({ numbers: values }) => mean(values),
    ),
    calculation(
      'min_value',
      'Finds the smallest of some numbers.',
      { numbers: numbers('to find the smallest of') },
      'The smallest number.',
      ({ numbers: values }) => Math.min(...values),
    ),
    calculation(
      'multiply',
      'Multiplies a number by another one.',
      { a: number('One number.'), b: number('The other one.') },
      'Both numbers, multiplied.',
      ({ a, b }) => a * b,
    ),
    calculation(
      'percentage',
      'Tells how many percent of a whole a part is.',
      { part: number('The part.'), whole: number('The whole.') },
      'The part in percent of the whole.',
      ({ part, whole: all }) => (100 * part) / all,
    ),
    calculation(
      'power',
      'Raises a number to a power.',
      { base: number('The number that is raised.'), exponent: number('The exponent.') },
      'The number, raised to the power.',
      ({ base, exponent }) => base ** exponent,
    ),
    calculation(
      'round_number',
      'Rounds a number to some decimal places.',
      {
        number: number('The number to round.'),
        decimal_places: whole('How many decimal places are left. None by default.', { default: 0 }),
      },
      'The number, rounded.',
      ({ number: value, decimal_places }) => Number(value.toFixed(decimal_places)),
    ),
    calculation(
      'si_unit_conversion',
      'Converts a value from one unit of the SI to another.',
      UNITS,
      'The value in its new unit.',
      ({ value }) => value,
    ),
    calculation(
      'square_root',
      'Gives the square root of a number, with as many decimal digits as are asked for.',
      { number: number('The number whose square root is given.'), precision: whole('How many digits the result has.') },
      'The square root of the number, or why there is none.',
      ({ number: value, precision }) => Number(Math.sqrt(value).toFixed(precision)),
    ),
    calculation(
      'standard_deviation',
      'Gives the standard deviation of some numbers.',
      { numbers: numbers('to give the standard deviation of') },
      'Standard deviation of the numbers.',
      ({ numbers: values }) => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2))),
    ),
    calculation(
      'subtract',
      'Subtracts a number from another one.',
      { a: number('The number that is made smaller.'), b: number('The number by which it is.') },
      'The difference between both.',
      ({ a, b }) => a - b,
    ),
    calculation(
      'sum_values',
      'Adds up some numbers.',
      { numbers: numbers('to add up') },
      'All numbers of the list, added up.',
      ({ numbers: values }) => sum(values),
    ),
  ],
};
