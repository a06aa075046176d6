import type { Registry } from 'prom-client';
import {
  DURATION_SECONDS,
  INPUT_TOKENS,
  NTPOT_SECONDS,
  OUTPUT_TOKENS,
  REQUEST_BYTES,
  RESPONSE_BYTES,
  TPOT_SECONDS,
  TTFT_SECONDS,
} from './bucket-bounds.ts';
import { counters, eppPage, type Family, gauges, histograms } from './family.ts';
import type { Cell, Tally } from './tally.ts';

const M = ['model_name', 'target_model_name'];
const MP = [...M, 'fairness_id', 'priority'];

/** Every metric that is told apart by model, fairness id and priority. */
export interface RequestFamilies {
  readonly requests: Family<Cell>;
  readonly errors: Family<Cell>;
  readonly running: Family<Cell>;
  readonly durationSeconds: Family<Tally>;
  readonly requestBytes: Family<Tally>;
  readonly responseBytes: Family<Tally>;
  readonly inputTokens: Family<Tally>;
  readonly outputTokens: Family<Tally>;
  readonly cachedTokens: Family<Tally>;
  readonly ttftSeconds: Family<Tally>;
  readonly ntpotSeconds: Family<Tally>;
  readonly tpotSeconds: Family<Tally>;
}

/**
 * Registers them under the reference's names and, where its dashboards still ask for them, under
 * its deprecated ones.
 */
export function createRequestFamilies(registry: Registry): RequestFamilies {
  const families = { ...counts(registry), ...sizes(registry), ...times(registry) };
  exposeDeprecated(registry, families);
  return families;
}

type Counts = Pick<RequestFamilies, 'requests' | 'errors' | 'running'>;

function counts(registry: Registry): Counts {
  const page = eppPage(registry);
  return {
    requests: page(counters(), 'request_total', 'Requests routed to a model server.', MP),
    errors: page(
      counters(),
      'request_error_total',
      'Requests refused here, failed at the model server, or given up by the client.',
      [...MP, 'error_code'],
    ),
    running: page(gauges(), 'request_running', 'Requests routed and not yet ended.', MP),
  };
}

type Sizes = Pick<
  RequestFamilies,
  'requestBytes' | 'responseBytes' | 'inputTokens' | 'outputTokens' | 'cachedTokens'
>;

function sizes(registry: Registry): Sizes {
  const page = eppPage(registry);
  const of = (bounds: readonly number[], name: string, help: string): Family<Tally> =>
    page(histograms(bounds), name, help, MP);
  return {
    requestBytes: of(REQUEST_BYTES, 'request_size_bytes', 'Size of request bodies.'),
    responseBytes: of(
      RESPONSE_BYTES,
      'response_size_bytes',
      'Size of response bodies, where they are seen.',
    ),
    inputTokens: of(
      INPUT_TOKENS,
      'request_input_tokens',
      'Prompt tokens as the model server counted them.',
    ),
    outputTokens: of(
      OUTPUT_TOKENS,
      'request_output_tokens',
      'Generated tokens as the model server counted them.',
    ),
    cachedTokens: of(
      INPUT_TOKENS,
      'request_cached_tokens',
      'Prompt tokens the model server found in its prefix cache.',
    ),
  };
}

type Times = Pick<
  RequestFamilies,
  'durationSeconds' | 'ttftSeconds' | 'ntpotSeconds' | 'tpotSeconds'
>;

function times(registry: Registry): Times {
  const page = eppPage(registry);
  return {
    durationSeconds: page(
      histograms(DURATION_SECONDS),
      'request_duration_seconds',
      'Time from the pick to the end of the response.',
      MP,
    ),
    ttftSeconds: page(
      histograms(TTFT_SECONDS),
      'request_ttft_seconds',
      'Time from the pick to the first token.',
      [...MP, 'streaming'],
    ),
    ntpotSeconds: page(
      histograms(NTPOT_SECONDS),
      'request_ntpot_seconds',
      'Time from the pick to the end, over output tokens.',
      MP,
    ),
    tpotSeconds: page(
      histograms(TPOT_SECONDS),
      'request_streaming_tpot_seconds',
      'Time between output tokens of a stream, after the first.',
      MP,
    ),
  };
}

function exposeDeprecated(registry: Registry, families: RequestFamilies): void {
  const twin = (
    family: Family<Cell> | Family<Tally>,
    name: string,
    use: string,
    labels: readonly string[] = M,
  ): void => {
    const help = `[Deprecated: Use llm_d_epp_${use}] The same, summed over the labels it lacks.`;
    family.expose(registry, { name: `inference_objective_${name}`, help, labels });
  };
  twin(families.requests, 'request_total', 'request_total', [...M, 'priority']);
  twin(families.errors, 'request_error_total', 'request_error_total', [...M, 'error_code']);
  twin(families.durationSeconds, 'request_duration_seconds', 'request_duration_seconds');
  twin(families.inputTokens, 'input_tokens', 'request_input_tokens');
  twin(families.outputTokens, 'output_tokens', 'request_output_tokens');
  twin(families.running, 'running_requests', 'request_running', ['model_name']);
}
