/**
 * The marks of the notations in which models write calls of tools for other systems, as of 2026-11. Each source reads
 * or writes this notation.
 */
export interface Notation {
  readonly of: string;
  /** The marks with which calls begin. A reader skips them. */
  readonly marks: readonly string[];
  /** Marks between calls and after them, which a reader skips, too. */
  readonly others?: readonly string[] | undefined;
  readonly source: string;
}

const VLLM = 'github.com/vllm-project/vllm, vllm/entrypoints/openai/tool_parsers';
const SGLANG = 'github.com/sgl-project/sglang, python/sglang/srt/function_call';

export const NOTATIONS: readonly Notation[] = [
  {
    of: 'Anthropic',
    marks: ['<function_calls>', '<antml:function_calls>'],
    others: ['</function_calls>', '</antml:function_calls>'],
    source: 'docs.anthropic.com, tool use in the text of an answer',
  },
  {
    of: 'OpenAI',
    marks: [],
    others: ['<|start|>assistant', '<|call|>', '<|end|>'],
    source: `${SGLANG}/gpt_oss_detector.py`,
  },
  {
    of: 'Hermes and Qwen',
    marks: ['<tool_call>'],
    others: ['</tool_call>', '<|im_end|>'],
    source: `${VLLM}/hermes_tool_parser.py, qwen3coder_tool_parser.py`,
  },
  {
    of: 'GLM',
    marks: [],
    others: ['<|assistant|>', '<|observation|>'],
    source: `${VLLM}/glm4_moe_tool_parser.py`,
  },
  {
    of: 'Llama',
    marks: ['<|python_tag|>'],
    others: ['<|eom_id|>', '<|eot_id|>'],
    source: `${VLLM}/llama_tool_parser.py`,
  },
  {
    of: 'Mistral',
    marks: ['[TOOL_CALLS]'],
    others: ['</s>'],
    source: `${VLLM}/mistral_tool_parser.py`,
  },
  {
    of: 'DeepSeek',
    marks: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>', '<｜DSML｜function_calls>'],
    others: ['<｜tool▁calls▁end｜>', '<｜tool▁call▁end｜>', '</｜DSML｜function_calls>', '<｜end▁of▁sentence｜>'],
    source: `${VLLM}/deepseekv3_tool_parser.py, deepseekv31_tool_parser.py, deepseekv32_tool_parser.py`,
  },
  {
    of: 'Kimi',
    marks: ['<|tool_calls_section_begin|>', '<|tool_call_begin|>'],
    others: ['<|tool_calls_section_end|>', '<|tool_call_end|>'],
    source: `${VLLM}/kimi_k2_tool_parser.py`,
  },
  {
    of: 'MiniMax',
    marks: ['<minimax:tool_call>', '<tool_calls>'],
    others: ['</minimax:tool_call>', '</tool_calls>'],
    source: `${VLLM}/minimax_tool_parser.py, minimax_m2_tool_parser.py`,
  },
  {
    of: 'Granite and Phi',
    marks: ['<|tool_call|>'],
    others: ['<|/tool_call|>'],
    source: `${VLLM}/phi4mini_tool_parser.py`,
  },
  {
    of: 'Gemma',
    marks: ['<|tool_call>call:'],
    others: ['<tool_call|>'],
    source: 'github.com/tinyhumansai/openhuman, issue 6344',
  },
  {
    of: 'InternLM',
    marks: ['<|action_start|><|plugin|>'],
    others: ['<|action_end|>'],
    source: `${VLLM}/internlm2_tool_parser.py`,
  },
  {
    of: 'Seed',
    marks: ['<seed:tool_call>'],
    others: ['</seed:tool_call>'],
    source: `${VLLM}/seed_oss_tool_parser.py`,
  },
  {
    of: 'xLAM',
    marks: ['<tool_calls>'],
    others: ['</tool_calls>'],
    source: `${VLLM}/xlam_tool_parser.py`,
  },
];

/** The words after the backticks of a fence that holds calls: Gemini writes `tool_code`. */
export const CALL_FENCES: ReadonlySet<string> = new Set([
  'function_call',
  'function_calls',
  'json',
  'python',
  'tool-call',
  'tool-calls',
  'tool_call',
  'tool_calls',
  'tool_code',
  'xml',
]);
