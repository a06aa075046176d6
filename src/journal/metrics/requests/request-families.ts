import type { Registry } from 'prom-client';
import {
  DURATION_SECONDS,
  INPUT_TOKENS,
  ITL_SECONDS,
  NTPOT_SECONDS,
  OUTPUT_TOKENS,
  REQUEST_BYTES,
  RESPONSE_BYTES,
  TPOT_SECONDS,
  TTFT_SECONDS,
} from '../page/bucket-bounds.ts';
import { formerNamesOn, type ShowFormerNames } from '../page/deprecated-names.ts';
import { counters, eppPage, type Family, gauges, histograms } from '../page/family.ts';
import type { Cell, Tally } from '../page/tally.ts';

/** Labels: the model that the client asked for, and the one that serves. */
const M = ['model_name', 'target_model_name'];
const MP = [...M, 'fairness_id', 'priority'];

type Counts = 'requests' | 'errors' | 'aborted' | 'running';
type Sizes = 'requestBytes' | 'responseBytes' | 'inputTokens' | 'outputTokens' | 'cachedTokens';
type Times = 'durationSeconds' | 'ttftSeconds' | 'ntpotSeconds' | 'tpotSeconds' | 'itlSeconds';

/** All metrics that have the labels model, fairness id and priority. */
export type RequestFamilies = Readonly<
  Record<Counts, Family<Cell>> & Record<Sizes | Times, Family<Tally>>
>;

const HELP = {
  requests: 'Requests routed to a model server, by model and target model.',
  errors: 'Requests refused here, or failed at the model server, by model, target model and error.',
  response:
    'Size of response bodies in bytes by model and target model, where the picker sees them.',
  input: 'Prompt tokens of requests as the model server counted them, by model and target model.',
  output:
    'Generated tokens of requests as the model server counted them, by model and target model.',
  cached:
    'Prompt tokens of requests that the model server found in its prefix cache, by model and target model.',
  toEnd:
    'Seconds from when a request could be decided to the end of the response, by model and target model.',
  toFirst:
    'Seconds from when a request could be decided to the first token, by model and target model.',
  perToken:
    'Seconds from when a request could be decided to the end, over its output tokens, by model and target model.',
  between: 'Seconds for each output token of a stream after the first, by model and target model.',
  gaps: 'Seconds between two pieces of a stream, by model and target model.',
  running: 'Requests routed and not yet ended, by model.',
  requestBytes: 'Size of request bodies in bytes, by model and target model.',
} as const;

/** Registers them under the reference's names, and under its former ones if `deprecated`. */
export function createRequestFamilies(registry: Registry, deprecated = false): RequestFamilies {
  const page = eppPage(registry);
  const of = (
    bounds: readonly number[],
    name: string,
    help: string,
    more: readonly string[] = [],
  ) => page(histograms(bounds), name, help, [...MP, ...more]);
  const families = {
    requests: page(counters(), 'request_total', HELP.requests, MP),
    errors: page(counters(), 'request_error_total', HELP.errors, [...MP, 'error_code']),
    // No error: alerts on the share of errors, as the reference publishes them, mean no clients.
    aborted: counters().expose(registry, {
      name: 'pointsman_aborted_requests_total',
      help: 'Requests with an endpoint that ended before their answer, as their client left.',
      labels: MP,
    }),
    running: page(gauges(), 'request_running', HELP.running, MP),
    requestBytes: of(REQUEST_BYTES, 'request_size_bytes', HELP.requestBytes),
    responseBytes: of(RESPONSE_BYTES, 'response_size_bytes', HELP.response),
    inputTokens: of(INPUT_TOKENS, 'request_input_tokens', HELP.input),
    outputTokens: of(OUTPUT_TOKENS, 'request_output_tokens', HELP.output),
    cachedTokens: of(INPUT_TOKENS, 'request_cached_tokens', HELP.cached),
    durationSeconds: of(DURATION_SECONDS, 'request_duration_seconds', HELP.toEnd),
    ttftSeconds: of(TTFT_SECONDS, 'request_ttft_seconds', HELP.toFirst, ['streaming']),
    ntpotSeconds: of(NTPOT_SECONDS, 'request_ntpot_seconds', HELP.perToken),
    tpotSeconds: of(TPOT_SECONDS, 'request_streaming_tpot_seconds', HELP.between),
    itlSeconds: of(ITL_SECONDS, 'request_streaming_itl_seconds', HELP.gaps),
  };
  showFormerNames(families, formerNamesOn(registry, deprecated));
  return families;
}

/** Priorities came with the later names. */
const isOldest = (label: string): boolean => label !== 'priority';

/**
 * Shows families under the names that older releases of the reference gave them: at first those
 * that begin with `inference_model_`, then `inference_objective_`, and later `llm_d_router_epp_`.
 */
function showFormerNames(families: RequestFamilies, show: ShowFormerNames): void {
  const former = <Child>(
    family: Family<Child>,
    name: string,
    use: string,
    labels: readonly string[] = M,
  ): void => {
    show(family, use, [`inference_objective_${name}`, `llm_d_router_epp_${name}`], labels);
    show(family, use, [`inference_model_${name}`], labels.filter(isOldest));
  };
  former(families.requests, 'request_total', 'request_total', [...M, 'priority']);
  former(families.errors, 'request_error_total', 'request_error_total', [...M, 'error_code']);
  former(families.running, 'running_requests', 'request_running', ['model_name']);
  // The reference's own dashboard asks for these.
  for (const [family, name, use] of [
    [families.responseBytes, 'request_response_sizes', 'response_size_bytes'],
    [families.inputTokens, 'request_input_tokens', 'request_input_tokens'],
    [families.outputTokens, 'request_output_tokens', 'request_output_tokens'],
  ] as const) {
    show(family, use, [`llm_d_router_epp_${name}`], M);
  }
  for (const [family, name, use] of [
    [families.durationSeconds, 'request_duration_seconds', 'request_duration_seconds'],
    [families.requestBytes, 'request_sizes', 'request_size_bytes'],
    [families.responseBytes, 'response_sizes', 'response_size_bytes'],
    [families.inputTokens, 'input_tokens', 'request_input_tokens'],
    [families.outputTokens, 'output_tokens', 'request_output_tokens'],
    [families.cachedTokens, 'prompt_cached_tokens', 'request_cached_tokens'],
    [families.ntpotSeconds, 'normalized_time_per_output_token_seconds', 'request_ntpot_seconds'],
    [families.ttftSeconds, 'request_ttft_seconds', 'request_ttft_seconds'],
    [families.tpotSeconds, 'request_tpot_seconds', 'request_streaming_tpot_seconds'],
  ] as const) {
    former(family, name, use);
  }
}
