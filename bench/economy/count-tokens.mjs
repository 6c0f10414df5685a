import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/**
 * @typedef {object} Figures
 * @property {number} turns The number of requests to the model.
 * @property {number} inputTokens The tokens of all request bodies, as they were sent, without the key of the prompt cache.
 * @property {number} newInputTokens Without the part that the previous request had too, which a prompt cache contains.
 * @property {number} outputTokens
 * @property {number} cost Tokens, weighted by the prices of providers: see `usageCost`.
 */

/** Tokens as providers charge for them, in tokens of new input: cached input costs a tenth, output five times. */
function costOf({ inputTokens, newInputTokens, outputTokens }) {
  return Math.round(newInputTokens + 0.1 * (inputTokens - newInputTokens) + 5 * outputTokens);
}

/**
 * @param {readonly object[]} requests Bodies, as they were sent.
 * @param {readonly object[][]} answers The model's answer to each of them.
 * @returns {Figures}
 */
export function figuresOf(requests, answers) {
  const figures = {
    turns: requests.length,
    inputTokens: sum(requests.map(bodyTokens)),
    newInputTokens: sum(
      requests.map((body, index) =>
        index === 0 ? bodyTokens(body) : tokensOf(body.input.slice(requests[index - 1].input.length)),
      ),
    ),
    outputTokens: sum(answers.flat().map((part) => countTokens(saidIn(part)))),
  };
  return { ...figures, cost: costOf(figures) };
}

/** A model does not read the key of its service's prompt cache. */
function bodyTokens(body) {
  return tokensOf({ ...body, prompt_cache_key: undefined });
}

/** Counts only the texts in request bodies, without JSON syntax and escapes. */
export function textTokensIn(requests) {
  return sum(requests.map(({ instructions = '', input, tools }) => textTokensOf([instructions, input, tools])));
}

/** The model's own text: a call's name and arguments, or a script without its JSON. */
function saidIn(part) {
  if (part.type === 'text') return part.text;
  if (part.type === 'script') return `run_script${JSON.stringify({ code: part.code })}`;
  return `${part.name}${JSON.stringify(part.arguments)}`;
}

/** Encodes schemas as JSON, as every consumer receives them. */
function textTokensOf(value) {
  if (typeof value === 'string') return countTokens(value);
  if (typeof value !== 'object' || value === null) return 0;
  return sum(
    Object.entries(value).map(([name, member]) => (name === 'parameters' ? tokensOf(member) : textTokensOf(member))),
  );
}

export function tokensOf(json) {
  return countTokens(JSON.stringify(json));
}

export function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
