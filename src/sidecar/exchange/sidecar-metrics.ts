import type { Millis } from '../../framework/runtime.ts';
import { Counter, Gauge, Histogram, Registry } from '../../runtime/prom-client.ts';
import { API_NAMES } from '../body/generation-api.ts';
import { LEG_STAGES, type LegStage } from '../options/sidecar-options.ts';

/** Why a stage is left to the engine after another server was asked. */
const FALL_BACK_REASONS = ['failed', 'timeout'] as const;
type FallBackReason = (typeof FALL_BACK_REASONS)[number];

/** `denied`: the request named a server that it may not. */
type StageOutcome = 'done' | 'denied' | FallBackReason;
export const STAGE_OUTCOMES: readonly StageOutcome[] = ['done', ...FALL_BACK_REASONS, 'denied'];

export const REQUEST_OUTCOMES = [
  'answered',
  'refused',
  'client-gone',
  'engine-failed',
  'cut',
] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

/** The reference's bounds: a long answer streams for minutes. */
const SECONDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
];

interface Observed {
  /** Default: a page of its own. */
  readonly registry?: Registry | undefined;
  readonly openRequests: () => number;
  readonly bufferedBytes: () => number;
  /** The connectors, for the labels of the reference's metrics. */
  readonly connector: string;
  readonly ecConnector: string;
}

export interface SidecarCounts {
  /** Prompts computed by a prefilling server. */
  prefilled: number;
  /** Requests whose media were encoded by encoders. */
  encoded: number;
  /** Stages that failed at another server and were left to the decoding server. */
  fellBack: number;
}

/** The sidecar's page of metrics: its own, and those of the reference by their names. */
export class SidecarMetrics {
  readonly registry: Registry;
  /** What has been counted of stages so far. */
  readonly counts: SidecarCounts = { prefilled: 0, encoded: 0, fellBack: 0 };
  readonly #stages: Counter<'stage' | 'outcome'>;
  readonly #requests: Counter<'outcome'>;
  readonly #reference: ReferenceMetrics;

  constructor({ registry = new Registry(), openRequests, bufferedBytes, ...connectors }: Observed) {
    this.registry = registry;
    const registers = [registry];
    this.#requests = new Counter({
      name: 'pointsman_sidecar_requests_total',
      help: 'Requests by how they ended.',
      labelNames: ['outcome'],
      registers,
    });
    this.#stages = new Counter({
      name: 'pointsman_sidecar_stages_total',
      help: 'Stages of requests by how they ended. A stage that was not done is left to the engine.',
      labelNames: ['stage', 'outcome'],
      registers,
    });
    for (const outcome of REQUEST_OUTCOMES) this.#requests.inc({ outcome }, 0);
    for (const stage of LEG_STAGES) {
      for (const outcome of STAGE_OUTCOMES) this.#stages.inc({ stage, outcome }, 0);
    }
    this.#gauge('open_requests', 'Requests that have not ended.', openRequests);
    this.#gauge('buffered_bytes', 'Bytes of request bodies that are held.', bufferedBytes);
    this.#reference = new ReferenceMetrics(this.registry, connectors);
  }

  onRequest(outcome: RequestOutcome): void {
    this.#requests.inc({ outcome });
  }

  /** A request that generates tokens has arrived. */
  onGeneration(api: string): void {
    this.#reference.onRequest(api);
  }

  /** A request's prompt is to be computed elsewhere. */
  onApart(): void {
    this.#reference.onApart();
  }

  /** A stage was done or denied. */
  onStage(stage: LegStage, outcome: 'done' | 'denied'): void {
    this.#stages.inc({ stage, outcome });
    if (outcome === 'done') {
      if (stage === 'prefill') this.counts.prefilled += 1;
      if (stage === 'encode') this.counts.encoded += 1;
    }
  }

  /** A stage that was tried at another server is left to the engine. */
  onFallBack(stage: LegStage, reason: FallBackReason): void {
    this.#stages.inc({ stage, outcome: reason });
    this.counts.fellBack += 1;
    this.#reference.onError(stage);
  }

  /** A stage was done and took so long. */
  onDuration(stage: LegStage, durationMs: Millis): void {
    this.#reference.onDuration(stage, durationMs);
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `pointsman_sidecar_${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }
}

type Connectors = Pick<Observed, 'connector' | 'ecConnector'>;

/** The families of the reference's sidecar. */
class ReferenceMetrics {
  readonly #requests: Counter<'api_type'>;
  readonly #apart: Counter<'connector'>;
  readonly #errors: Counter<'connector' | 'stage'>;
  readonly #durations: ReadonlyMap<LegStage, Histogram<'connector'>>;
  readonly #connectors: Connectors;

  constructor(registry: Registry, connectors: Connectors) {
    const registers = [registry];
    this.#connectors = connectors;
    const { connector } = connectors;
    this.#requests = new Counter({
      name: 'llm_d_disagg_sidecar_requests_total',
      help: 'Requests that generate tokens, by API.',
      labelNames: ['api_type'],
      registers,
    });
    this.#apart = new Counter({
      name: 'llm_d_disagg_sidecar_disagg_requests_total',
      help: 'Requests whose prompt is to be computed elsewhere.',
      labelNames: ['connector'],
      registers,
    });
    this.#errors = new Counter({
      name: 'llm_d_disagg_sidecar_request_errors_total',
      help: 'Stages that failed or took too long.',
      labelNames: ['connector', 'stage'],
      registers,
    });
    this.#durations = new Map(
      LEG_STAGES.map((stage) => [
        stage,
        new Histogram({
          name: `llm_d_disagg_sidecar_${stage}_duration_seconds`,
          help: `How long the stage ${stage} took where it was done.`,
          labelNames: ['connector'],
          buckets: [...SECONDS],
          registers,
        }),
      ]),
    );
    for (const api_type of API_NAMES) this.#requests.inc({ api_type }, 0);
    this.#apart.inc({ connector }, 0);
    for (const stage of LEG_STAGES) this.#errors.inc({ connector: this.#of(stage), stage }, 0);
  }

  onRequest(api_type: string): void {
    this.#requests.inc({ api_type });
  }

  onApart(): void {
    this.#apart.inc({ connector: this.#connectors.connector });
  }

  onError(stage: LegStage): void {
    this.#errors.inc({ connector: this.#of(stage), stage });
  }

  onDuration(stage: LegStage, durationMs: Millis): void {
    this.#durations.get(stage)?.observe({ connector: this.#of(stage) }, durationMs / 1000);
  }

  #of(stage: LegStage): string {
    return stage === 'encode' ? this.#connectors.ecConnector : this.#connectors.connector;
  }
}
