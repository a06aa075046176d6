import { objectOf } from '../../../framework/values/plain-object.ts';
import { fieldNames } from '../columns/column-values.ts';
import { columnsAdvice } from '../columns/trace-columns.ts';

/** Names by which data sets of prompts and conversations hold their texts. */
const TEXTS = /"(?:conversations?|messages|prompts?|turns|text)"\s*:/;
/** Names that only a line of Mooncake's has; a damaged one still has one of them. */
const MOONCAKE_FIELDS = /"(?:timestamp|input_length|output_length|hash_ids)"\s*:\s*[-\d[]/;
const NEEDS = 'a trace says when each request came and how many tokens it and its answer have';

/** The plainest line that can be read, for those who convert what they have. */
export const PLAIN_LINE =
  'write for each request a line such as {"timestamp": 0, "input_length": 812, "output_length": 120}: milliseconds, tokens of the prompt, tokens of the answer';

/** Why a text with this first line, or a JSON value, is no trace; undefined where it may be one. */
export function noTraceOf(text: string): string | undefined {
  return noJsonTraceOf(text) ?? otherTextOf(text);
}

/** Undefined for what may be damaged or Mooncake's. */
function noJsonTraceOf(text: string): string | undefined {
  const names = (name: string): boolean => text.includes(`"${name}"`);
  const found = RESULTS.find(({ has, lacks = '' }) => has.every(names) && !names(lacks));
  if (text.startsWith('{') && found !== undefined) return found.sentence;
  if (MOONCAKE_FIELDS.test(text) || /"start_time"\s*:\s*\d/.test(text)) return undefined;
  if (/^[{[]/.test(text) && TEXTS.test(text)) {
    return `these are texts, as ShareGPT's or those of a benchmark's data set, and no trace: ${NEEDS}; send them to a picker with \`serve --capture\`, and use its capture; ${columnsAdvice(keysOf(text))}`;
  }
  const keys = keysOf(text);
  if (keys.length === 0) return undefined;
  return `JSON with the fields ${keys.join(', ')} is of no known format: ${NEEDS}; ${columnsAdvice([])}, or ${PLAIN_LINE}; docs/trace-format.md has all formats, and --from names one`;
}

/** Results of load generators and others that many have, by fields that only they have together. */
const RESULTS: readonly {
  readonly has: readonly string[];
  readonly lacks?: string;
  readonly sentence: string;
}[] = [
  {
    has: ['input_lens', 'output_lens'],
    lacks: 'start_times',
    sentence:
      'this result of a benchmark has no start_times, and so does not say when each request came: newer versions of `vllm bench serve` write them with --save-result --save-detailed',
  },
  {
    has: ['mean_ttft_ms', 'total_input_tokens'],
    lacks: 'input_lens',
    sentence:
      'this result of a benchmark has the totals alone: `vllm bench serve --save-result --save-detailed` writes each request',
  },
  {
    has: ['experiments', 'response_timestamps'],
    sentence:
      'this is a profile export of GenAI-Perf or Perf Analyzer, which does not say how many tokens prompts and answers have: AIPerf, which followed them, writes them into its profile_export.jsonl',
  },
  {
    has: ['input_config', 'request_latency'],
    sentence: 'these are the totals of a run of AIPerf: its profile_export.jsonl has each request',
  },
  {
    has: ['custom_id', 'response'],
    sentence: `these are answers of a batch, and no trace: ${NEEDS}; ${PLAIN_LINE}, with usage.prompt_tokens and usage.completion_tokens`,
  },
];

/** Files that are given by mistake, by how they begin. */
const OTHERS: readonly { readonly begins: RegExp; readonly sentence: string }[] = [
  {
    begins: /^<(?:!doctype|html|\?xml|!--)/i,
    sentence:
      'is HTML or XML, such as the page about a file in place of the file: download the file itself',
  },
  {
    begins: /^version https:\/\/git-lfs/,
    sentence: 'is a pointer of Git LFS to the file: fetch the file with `git lfs pull`',
  },
  { begins: /^\[\s*\]$/, sentence: 'is an empty array: it contains no request' },
  { begins: /^\{\s*\}$/, sentence: 'is an empty object: it contains no request' },
];

function otherTextOf(text: string): string | undefined {
  const other = OTHERS.find(({ begins }) => begins.test(text));
  if (other !== undefined) return other.sentence;
  if (!text.includes('\0')) return undefined;
  return 'is no text, as it has bytes of 0: an archive such as tar, or a binary file? Unpack it, or write it as CSV or JSON Lines';
}

/** None for what is no JSON object. */
function keysOf(text: string): readonly string[] {
  try {
    return fieldNames(objectOf(JSON.parse(text)));
  } catch {
    return [];
  }
}
