import type { Millis } from '../../src/framework/runtime.ts';

/** What the engine does in one step. */
export interface StepLoad {
  /** Prompt tokens computed, over all chunks. */
  readonly prefillTokens: number;
  /** Sequences with a chunk of their prompt in this step. */
  readonly prefillSequences: number;
  /** Sequences that decode one token each. */
  readonly decodeSequences: number;
  /** Tokens in the KV cache that the decoding sequences attend to. */
  readonly contextTokens: number;
  /** Over all chunks the sum of (before + chunk)² − before²: what attention within prompts grows with. */
  readonly attendedSquares: number;
  /** Speculated tokens verified beside those of the decoding sequences, over all of them. 0 unless said. */
  readonly draftTokens?: number;
  /** Of these, such as became output. Known when the step has ended. */
  readonly acceptedTokens?: number;
}

/** How long a step takes in model time. Must be pure: the same load takes as long again. */
export type LatencyModel = (load: StepLoad) => Millis;

/** Coefficients of `linearLatency`. */
export interface LinearLatency {
  readonly kind: 'linear';
  readonly baseMs: Millis;
  readonly perPrefillTokenMs: Millis;
  readonly perDecodeSequenceMs: Millis;
  readonly perContextTokenMs: Millis;
}

/** Coefficients of `rooflineLatency`. */
export interface RooflineLatency {
  readonly kind: 'roofline';
  /** Of a step whatever it does. */
  readonly stepMs: Millis;
  /** To read the weights once: what a small batch is bound by. */
  readonly weightsMs: Millis;
  readonly perTokenMs: Millis;
  readonly perSequenceMs: Millis;
  readonly perContextTokenMs: Millis;
  readonly perAttendedSquareMs: Millis;
  /** Of a step with any prefill. */
  readonly prefillMs: Millis;
  /** Of a step too large for a captured graph. */
  readonly eagerMs: Millis;
}

export type LatencyCoefficients = LinearLatency | RooflineLatency;

/** vLLM captures graphs for up to this many tokens. */
const GRAPH_TOKENS_MAX = 512;

export function latencyModel(coefficients: LatencyCoefficients): LatencyModel {
  return coefficients.kind === 'linear'
    ? linearLatency(coefficients)
    : rooflineLatency(coefficients);
}

/** The same engine, `factor` times as slow. */
export function slowed(model: LatencyModel, factor: number): LatencyModel {
  return factor === 1 ? model : (load) => factor * model(load);
}

/** The policy study's model: everything adds up. */
export function linearLatency(coefficients: LinearLatency): LatencyModel {
  const { baseMs, perPrefillTokenMs, perDecodeSequenceMs, perContextTokenMs } = coefficients;
  return ({ prefillTokens, decodeSequences, contextTokens, draftTokens = 0 }) =>
    baseMs +
    perPrefillTokenMs * (prefillTokens + draftTokens) +
    perDecodeSequenceMs * decodeSequences +
    perContextTokenMs * contextTokens;
}

/**
 * Reading weights and computing overlap: √(weights² + (compute·tokens)²), the smooth knee that fits to published vLLM
 * 0.11 measurements gave exponents of 1.9 to 2.3 for; the rest adds up.
 */
export function rooflineLatency(coefficients: RooflineLatency): LatencyModel {
  const { stepMs, weightsMs, perTokenMs, perSequenceMs, perContextTokenMs } = coefficients;
  const { perAttendedSquareMs, prefillMs, eagerMs } = coefficients;
  return (load) => {
    const { prefillTokens, prefillSequences, decodeSequences, contextTokens } = load;
    const tokens = prefillTokens + decodeSequences + (load.draftTokens ?? 0);
    const computeMs = perTokenMs * tokens;
    return (
      stepMs +
      Math.sqrt(weightsMs * weightsMs + computeMs * computeMs) +
      perSequenceMs * (prefillSequences + decodeSequences) +
      perContextTokenMs * contextTokens +
      perAttendedSquareMs * load.attendedSquares +
      (prefillSequences > 0 ? prefillMs : 0) +
      (tokens > GRAPH_TOKENS_MAX ? eagerMs : 0)
    );
  };
}
