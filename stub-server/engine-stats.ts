import type { Millis } from '../src/framework/runtime.ts';
import type { EngineObserver } from './engine-observer.ts';
import type { StepLoad } from './latency-model.ts';
import type { FinishReason, Sequence } from './sequence.ts';

/** A histogram with Prometheus buckets, cumulative only when printed. */
export class StepHistogram {
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number, times = 1): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] as number)) index += 1;
    this.counts[index] = (this.counts[index] as number) + times;
    this.sum += value * times;
    this.count += times;
  }
}

/** vLLM's buckets, seconds. */
const TTFT = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  160, 640, 2560,
];
const PER_TOKEN = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const REQUEST = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];

/** What an engine has done since it started. */
export class EngineStats implements EngineObserver {
  requests = 0;
  promptTokens = 0;
  generatedTokens = 0;
  prefixQueriedTokens = 0;
  prefixHitTokens = 0;
  preemptions = 0;
  readonly finished: Record<'stop' | 'length' | 'abort' | 'error', number> = {
    stop: 0,
    length: 0,
    abort: 0,
    error: 0,
  };
  readonly ttftSeconds: StepHistogram = new StepHistogram(TTFT);
  readonly interTokenSeconds: StepHistogram = new StepHistogram(PER_TOKEN);
  readonly requestSeconds: StepHistogram = new StepHistogram(REQUEST);
  readonly queueSeconds: StepHistogram = new StepHistogram(REQUEST);

  onArrived(): void {
    this.requests += 1;
  }

  onScheduled(sequence: Sequence, at: Millis): void {
    if (sequence.preemptions > 0) return;
    this.prefixQueriedTokens += sequence.request.promptTokens;
    this.prefixHitTokens += sequence.cachedTokens - sequence.remoteTokens;
    this.queueSeconds.observe((at - sequence.arrivedAt) / 1000);
  }

  onPreempted(): void {
    this.preemptions += 1;
  }

  onStep({ decodeSequences }: StepLoad, durationMs: Millis): void {
    if (decodeSequences === 0) return;
    this.generatedTokens += decodeSequences;
    this.interTokenSeconds.observe(durationMs / 1000, decodeSequences);
  }

  onPrefilled(sequence: Sequence, at: Millis): void {
    this.generatedTokens += 1;
    if (sequence.generatedTokens === 1) {
      this.promptTokens += sequence.request.promptTokens;
      this.ttftSeconds.observe((at - sequence.arrivedAt) / 1000);
    } else this.interTokenSeconds.observe((at - sequence.lastTokenAt) / 1000);
  }

  onFinished(sequence: Sequence, reason: FinishReason, at: Millis): void {
    this.finished[reason] += 1;
    this.requestSeconds.observe((at - sequence.arrivedAt) / 1000);
  }
}
