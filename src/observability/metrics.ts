import { Counter, Gauge, Registry } from 'prom-client';
import { ERRORS, type RoutingErrorCode } from '../framework/error.ts';
import { BUCKETS } from './buckets.ts';
import { TallyFamily } from './tally-family.ts';

/** Clients choose model names and fairness ids; past so many distinct ones the rest are counted as `other`. */
const NAMES_MAX = 1000;
const PREFIX = 'llm_d_epp_';
const REQUEST_LABELS = ['model_name', 'target_model_name', 'fairness_id', 'priority'] as const;

/** All metrics of one picker, on a registry of their own, under the reference's names. */
export class PickerMetrics {
  readonly registry: Registry = new Registry();
  readonly requests: Counter<string>;
  readonly errors: Counter<string>;
  readonly running: Gauge<string>;
  readonly schedulerAttempts: Counter<string>;
  readonly requestSeconds: TallyFamily;
  readonly ttftSeconds: TallyFamily;
  readonly tpotSeconds: TallyFamily;
  readonly ntpotSeconds: TallyFamily;
  readonly requestBytes: TallyFamily;
  readonly inputTokens: TallyFamily;
  readonly outputTokens: TallyFamily;
  readonly cachedTokens: TallyFamily;
  readonly schedulerSeconds: TallyFamily;
  readonly pluginSeconds: TallyFamily;
  readonly prefixHitRatio: TallyFamily;
  readonly #names = new Set<string>();

  constructor() {
    this.requests = this.#counter('request_total', 'Requests routed.', REQUEST_LABELS);
    this.errors = this.#counter('request_error_total', 'Requests refused or failed.', [
      ...REQUEST_LABELS,
      'error_code',
    ]);
    this.running = new Gauge({
      name: `${PREFIX}request_running`,
      help: '[ALPHA] Requests in flight.',
      labelNames: [...REQUEST_LABELS],
      registers: [this.registry],
    });
    this.schedulerAttempts = this.#counter('scheduler_attempts_total', 'Scheduling attempts.', [
      'status',
      'target_model_name',
      'endpoint_name',
      'namespace',
      'port',
    ]);
    this.requestSeconds = this.#tally(
      'request_duration_seconds',
      'From pick to end.',
      BUCKETS.requestSeconds,
    );
    this.ttftSeconds = this.#tally(
      'request_ttft_seconds',
      'From pick to first token.',
      BUCKETS.ttftSeconds,
    );
    this.tpotSeconds = this.#tally(
      'request_streaming_tpot_seconds',
      'Per output token after the first.',
      BUCKETS.tpotSeconds,
    );
    this.ntpotSeconds = this.#tally(
      'request_ntpot_seconds',
      'Duration over output tokens.',
      BUCKETS.ntpotSeconds,
    );
    this.requestBytes = this.#tally('request_size_bytes', 'Request bodies.', BUCKETS.requestBytes);
    this.inputTokens = this.#tally(
      'request_input_tokens',
      'Prompt tokens as reported.',
      BUCKETS.inputTokens,
    );
    this.outputTokens = this.#tally(
      'request_output_tokens',
      'Output tokens as reported.',
      BUCKETS.outputTokens,
    );
    this.cachedTokens = this.#tally(
      'request_cached_tokens',
      'Cached prompt tokens as reported.',
      BUCKETS.inputTokens,
    );
    this.schedulerSeconds = this.#tally(
      'scheduler_e2e_duration_seconds',
      'One scheduling cycle.',
      BUCKETS.schedulerSeconds,
    );
    this.pluginSeconds = this.#tally(
      'plugin_duration_seconds',
      'One plugin in one cycle.',
      BUCKETS.schedulerSeconds,
    );
    this.prefixHitRatio = this.#tally(
      'prefix_indexer_hit_ratio',
      'Predicted share of the prompt in the chosen cache.',
      BUCKETS.ratio,
    );
    new Gauge({
      name: `${PREFIX}info`,
      help: '[ALPHA] Always 1; the build in its labels.',
      labelNames: ['commit', 'build_ref'],
      registers: [this.registry],
    }).set({ commit: 'unknown', build_ref: 'pointsman' }, 1);
  }

  /** The name, or `other` once there are too many distinct ones. */
  bounded(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= NAMES_MAX) return 'other';
    this.#names.add(name);
    return name;
  }

  countError(code: RoutingErrorCode, model: string): void {
    const name = this.bounded(model);
    this.errors.inc({
      model_name: name,
      target_model_name: name,
      fairness_id: 'default-flow',
      priority: 0,
      error_code: ERRORS[code].label,
    });
  }

  page(): Promise<string> {
    return this.registry.metrics();
  }

  #counter(name: string, help: string, labelNames: readonly string[]): Counter<string> {
    return new Counter({
      name: PREFIX + name,
      help: `[ALPHA] ${help}`,
      labelNames: [...labelNames],
      registers: [this.registry],
    });
  }

  #tally(name: string, help: string, buckets: readonly number[]): TallyFamily {
    return new TallyFamily({
      name: PREFIX + name,
      help: `[ALPHA] ${help}`,
      buckets,
      registry: this.registry,
    });
  }
}
