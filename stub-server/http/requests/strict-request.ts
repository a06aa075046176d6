import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../replica/api-error.ts';
import type { Call } from './call.ts';

type Api = 'chat' | 'completions';
type Fields = Readonly<Record<string, unknown>>;

/** A field of a request, the numbers that it may have, and what vLLM says of others. */
interface Range {
  readonly field: string;
  readonly fits: (value: number) => boolean;
  readonly says: string;
  /** Whether vLLM shows the number as a whole one. */
  readonly whole?: true;
  /** Whether the error names the field as its `param`. */
  readonly named?: true;
}

const within = (least: number, most: number) => (value: number) => value >= least && value <= most;
const penalty = { fits: within(-2, 2), says: 'must be in [-2, 2]' };

const RANGES: readonly Range[] = [
  { field: 'n', fits: (value) => value >= 1, says: 'must be at least 1', whole: true },
  { field: 'presence_penalty', ...penalty },
  { field: 'frequency_penalty', ...penalty },
  { field: 'repetition_penalty', fits: (value) => value > 0, says: 'must be greater than zero' },
  { field: 'temperature', fits: (value) => value >= 0, says: 'must be non-negative', named: true },
  {
    field: 'top_p',
    fits: (value) => value > 0 && value <= 1,
    says: 'must be in (0, 1]',
    named: true,
  },
  {
    field: 'top_k',
    fits: (value) => value >= -1,
    says: 'must be 0 (disable), or at least 1',
    whole: true,
  },
  { field: 'min_p', fits: within(0, 1), says: 'must be in [0, 1]' },
  {
    field: 'min_tokens',
    fits: (value) => value >= 0,
    says: 'must be greater than or equal to 0',
    whole: true,
  },
];
/** The most log probabilities of a token. */
const LOGPROBS_MAX = 20;

/**
 * Refuses what vLLM refuses in a chat or completion, with its words, and a lenient server does not:
 * llm-d-inference-sim's `--strict`. Throws ApiError.
 */
export function checkStrictly(
  value: unknown,
  { replica, headers }: Pick<Call, 'replica' | 'headers'>,
  api: Api,
): void {
  if (!replica.options.strict) return;
  checkType(headers);
  if (typeof value !== 'object' || value === null) return;
  const fields = value as Fields;
  checkTokens(fields, api);
  for (const range of RANGES) checkRange(fields, range);
  checkLogprobs(fields, api);
  checkStops(fields);
  checkStream(fields);
  if (api === 'chat') checkTools(fields);
  const { n, temperature } = fields;
  if (temperature === 0 && typeof n === 'number' && n > 1) {
    refuse(`n must be 1 when using greedy sampling, got ${n}.`);
  }
  if (fields['cache_salt'] === '') {
    refuse("Parameter 'cache_salt' must be a non-empty string if provided.");
  }
}

function refuse(message: string, param: string | null = null): never {
  throw new ApiError(400, message, param);
}

/** With the field and its value in the message, as vLLM has it for some. */
function refuseField(message: string, param: string, value: string): never {
  refuse(`${message} (parameter=${param}, value=${value})`, param);
}

function checkType(headers: IncomingHttpHeaders): void {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
  if (type.trim().toLowerCase() === 'application/json') return;
  const only = "Unsupported Media Type: Only 'application/json' is allowed";
  refuse(`1 validation error:\n  ${only} ["${only}"]`);
}

function checkRange(fields: Fields, { field, fits, says, whole, named }: Range): void {
  const value = fields[field];
  if (value === undefined || value === null) return;
  if (typeof value !== 'number') refuse(`${field}: must be a number`, field);
  if (fits(value)) return;
  const shown = whole === true ? String(value) : asFloat(value);
  const message = `${field} ${says}, got ${shown}.`;
  if (named === true) refuseField(message, field, shown);
  refuse(message);
}

/** As Python writes it. */
function asFloat(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function checkTokens(fields: Fields, api: Api): void {
  const { max_tokens: any, max_completion_tokens: ofChat, min_tokens: least } = fields;
  const most = api === 'chat' ? (ofChat ?? any) : any;
  if (typeof most !== 'number') return;
  if (most < 1) {
    refuseField(`max_tokens must be at least 1, got ${most}.`, 'max_tokens', String(most));
  }
  if (typeof least === 'number' && least > most) {
    refuse(`min_tokens must be less than or equal to max_tokens=${most}, got ${least}.`);
  }
}

function checkLogprobs(fields: Fields, api: Api): void {
  const asked = fields[api === 'chat' ? 'top_logprobs' : 'logprobs'];
  if (typeof asked !== 'number') return;
  if (asked > LOGPROBS_MAX) {
    const message = `Requested sample logprobs of ${asked}, which is greater than max allowed: ${LOGPROBS_MAX}`;
    refuseField(message, 'logprobs', String(asked));
  }
  if (api === 'chat' && asked !== 0 && fields['logprobs'] !== true) {
    const message = 'when using `top_logprobs`, `logprobs` must be set to true.';
    refuse(`${message} (parameter=top_logprobs)`, 'top_logprobs');
  }
}

function checkStops({ stop }: Fields): void {
  const stops: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  if (stops.includes('')) refuse('stop cannot contain an empty string.');
}

function checkStream({ stream, stream_options: options }: Fields): void {
  // One without a member is none to vLLM.
  const given = typeof options === 'object' && options !== null && Object.keys(options).length > 0;
  if (!given || stream === true) return;
  const message = 'Stream options can only be defined when `stream=True`.';
  refuse(`${message} (parameter=stream_options)`, 'stream_options');
}

function checkTools({ tools, tool_choice: choice }: Fields): void {
  if (Array.isArray(tools) && tools.length === 0) {
    refuse(
      '`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.',
    );
  }
  const chooses = choice !== undefined && choice !== null && choice !== 'none';
  if (chooses && (tools === undefined || tools === null)) {
    refuse('When using `tool_choice`, `tools` must be set.');
  }
}
