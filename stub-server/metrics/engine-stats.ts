import type { Millis } from '../../src/framework/runtime.ts';
import type { EngineObserver } from '../engine/engine-observer.ts';
import type { StepLoad } from '../engine/latency-model.ts';
import type { FinishReason, Sequence } from '../engine/sequence.ts';
import * as buckets from './buckets.ts';
import { Histogram } from './histogram.ts';

/** Names of the histograms. */
export type HistogramName = {
  [Key in keyof EngineStats]: EngineStats[Key] extends Histogram ? Key : never;
}[keyof EngineStats];

/** Counts of an engine since its start, as vLLM V1 counts them. */
export class EngineStats implements EngineObserver {
  requests = 0;
  promptTokens = 0;
  cachedPromptTokens = 0;
  /** Prompt tokens whose KV came from another server. */
  transferredPromptTokens = 0;
  generatedTokens = 0;
  prefixQueriedTokens = 0;
  prefixHitTokens = 0;
  preemptions = 0;
  tokensPerSecond = 0;
  readonly finished: Record<FinishReason, number> = { stop: 0, length: 0, abort: 0, error: 0 };
  readonly firstToken: Histogram = new Histogram(buckets.FIRST_TOKEN);
  readonly interToken: Histogram = new Histogram(buckets.PER_TOKEN);
  readonly perOutputToken: Histogram = new Histogram(buckets.PER_TOKEN);
  readonly perPrefillToken: Histogram = new Histogram(buckets.PREFILL_PER_TOKEN);
  readonly request: Histogram = new Histogram(buckets.REQUEST);
  readonly queue: Histogram = new Histogram(buckets.REQUEST);
  readonly inference: Histogram = new Histogram(buckets.REQUEST);
  readonly prefill: Histogram = new Histogram(buckets.REQUEST);
  readonly decode: Histogram = new Histogram(buckets.REQUEST);
  readonly stepTokens: Histogram = new Histogram(buckets.STEP_TOKENS);
  readonly requestPromptTokens: Histogram;
  readonly requestGeneratedTokens: Histogram;
  readonly requestComputedTokens: Histogram;
  readonly requestTokensMax: Histogram;
  readonly requestAnswers: Histogram = new Histogram(buckets.ANSWERS);
  readonly requestPreemptions: Histogram = new Histogram(buckets.ANSWERS);
  readonly sglangFirstToken: Histogram = new Histogram(buckets.SGLANG_FIRST_TOKEN);
  readonly sglangInterToken: Histogram = new Histogram(buckets.SGLANG_PER_TOKEN);
  readonly sglangRequest: Histogram = new Histogram(buckets.SGLANG_REQUEST);

  /** `contextTokensMax` is the model's; it sets the highest bucket of token histograms. */
  constructor(contextTokensMax = 131_072) {
    const bounds = buckets.tokenCounts(contextTokensMax);
    this.requestPromptTokens = new Histogram(bounds);
    this.requestGeneratedTokens = new Histogram(bounds);
    this.requestComputedTokens = new Histogram(bounds);
    this.requestTokensMax = new Histogram(bounds);
  }

  /** Counts the parameters of a request, which the engine does not know. */
  onParameters(answers: number, outputTokensMax: number | undefined): void {
    this.requestAnswers.observe(answers);
    if (outputTokensMax !== undefined) this.requestTokensMax.observe(outputTokensMax);
  }

  onArrived(): void {
    this.requests += 1;
  }

  onScheduled(sequence: Sequence, at: Millis): void {
    if (sequence.preemptions > 0) return;
    this.prefixQueriedTokens += sequence.request.promptTokens;
    this.prefixHitTokens += sequence.cachedTokens - sequence.remoteTokens;
    this.queue.observe((at - sequence.arrivedAt) / 1000);
  }

  onPreempted(): void {
    this.preemptions += 1;
  }

  onStep(load: StepLoad, durationMs: Millis): void {
    const { decodeSequences, prefillTokens, draftTokens = 0, acceptedTokens = 0 } = load;
    this.stepTokens.observe(decodeSequences + prefillTokens + draftTokens);
    const generatedTokens = decodeSequences + acceptedTokens;
    if (durationMs > 0) this.tokensPerSecond = (1000 * generatedTokens) / durationMs;
    if (decodeSequences === 0) return;
    this.generatedTokens += generatedTokens;
    // As in vLLM: the time between outputs of the engine, however many tokens each has.
    this.interToken.observe(durationMs / 1000, decodeSequences);
    this.sglangInterToken.observe(durationMs / 1000, decodeSequences);
  }

  onPrefilled(sequence: Sequence, at: Millis): void {
    this.generatedTokens += 1;
    if (sequence.generatedTokens > 0) {
      this.interToken.observe((at - sequence.lastTokenAt) / 1000);
      return;
    }
    const { request, cachedTokens, remoteTokens } = sequence;
    this.promptTokens += request.promptTokens;
    this.cachedPromptTokens += cachedTokens - remoteTokens;
    this.transferredPromptTokens += remoteTokens;
    this.firstToken.observe((at - sequence.arrivedAt) / 1000);
    this.sglangFirstToken.observe((at - sequence.arrivedAt) / 1000);
  }

  onFinished(sequence: Sequence, reason: FinishReason, at: Millis): void {
    const { request, generatedTokens, arrivedAt, scheduledAt, firstTokenAt, lastTokenAt } =
      sequence;
    this.finished[reason] += 1;
    this.request.observe((at - arrivedAt) / 1000);
    this.sglangRequest.observe((at - arrivedAt) / 1000);
    this.requestPromptTokens.observe(request.promptTokens);
    this.requestGeneratedTokens.observe(generatedTokens);
    this.requestPreemptions.observe(sequence.preemptions);
    // A request that was aborted before its first token does not have these times.
    if (Number.isNaN(firstTokenAt)) return;
    const prefillSeconds = (firstTokenAt - scheduledAt) / 1000;
    const computed = Math.max(1, request.promptTokens - sequence.cachedTokens);
    this.requestComputedTokens.observe(computed);
    this.prefill.observe(prefillSeconds);
    this.perPrefillToken.observe(prefillSeconds / computed);
    this.decode.observe((lastTokenAt - firstTokenAt) / 1000);
    this.inference.observe((lastTokenAt - scheduledAt) / 1000);
    if (generatedTokens > 1) {
      this.perOutputToken.observe((lastTokenAt - firstTokenAt) / 1000 / (generatedTokens - 1));
    }
  }
}
