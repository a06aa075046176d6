import { Counter, Gauge, Registry } from 'prom-client';

/** Where a request was when something happened. */
export type Stage = 'encode' | 'prefill' | 'decode';
/** `denied`: the request named a server that it may not. */
export type StageOutcome = 'done' | 'failed' | 'timeout' | 'denied';
export type RequestOutcome = 'answered' | 'refused' | 'client-gone' | 'engine-failed' | 'cut';

const STAGES: readonly Stage[] = ['encode', 'prefill', 'decode'];
const STAGE_OUTCOMES: readonly StageOutcome[] = ['done', 'failed', 'timeout', 'denied'];
const REQUEST_OUTCOMES: readonly RequestOutcome[] = [
  'answered',
  'refused',
  'client-gone',
  'engine-failed',
  'cut',
];

interface Observed {
  readonly openRequests: () => number;
  readonly bufferedBytes: () => number;
}

/** The sidecar's page of metrics. */
export class SidecarMetrics {
  readonly registry: Registry = new Registry();
  readonly #stages: Counter<'stage' | 'outcome'>;
  readonly #requests: Counter<'outcome'>;

  constructor({ openRequests, bufferedBytes }: Observed) {
    const registers = [this.registry];
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
    for (const stage of STAGES) {
      for (const outcome of STAGE_OUTCOMES) this.#stages.inc({ stage, outcome }, 0);
    }
    this.#gauge('open_requests', 'Requests that have not ended.', openRequests);
    this.#gauge('buffered_bytes', 'Bytes of request bodies that are held.', bufferedBytes);
  }

  onRequest(outcome: RequestOutcome): void {
    this.#requests.inc({ outcome });
  }

  onStage(stage: Stage, outcome: StageOutcome): void {
    this.#stages.inc({ stage, outcome });
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
