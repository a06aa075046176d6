import type { Millis } from '../../src/framework/runtime.ts';

export interface StepLoad {
  readonly prefillTokens: number;
  /** Sequences with a prompt chunk in this step. */
  readonly prefillSequences: number;
  /** Sequences that decode one token each. */
  readonly decodeSequences: number;
  /** Tokens in the KV cache of the decoding sequences, which attend to them. */
  readonly contextTokens: number;
  /** Σ (before + chunk)² − before² over all chunks: the cost of attention within prompts. */
  readonly attendedSquares: number;
  /** Drafted tokens that the step verifies, over all decoding sequences; 0 by default. */
  readonly draftTokens?: number;
  /** Drafted tokens that became output. Known when the step has ended. */
  readonly acceptedTokens?: number;
}

/** The duration of a step in model time. A pure function: the same load takes the same time. */
export type LatencyModel = (load: StepLoad) => Millis;

export interface LinearLatency {
  readonly kind: 'linear';
  readonly baseMs: Millis;
  readonly perPrefillTokenMs: Millis;
  readonly perDecodeSequenceMs: Millis;
  readonly perContextTokenMs: Millis;
}

export interface RooflineLatency {
  readonly kind: 'roofline';
  readonly stepMs: Millis;
  /** Time to read the weights once, which bounds a small batch. */
  readonly weightsMs: Millis;
  readonly perTokenMs: Millis;
  readonly perSequenceMs: Millis;
  readonly perContextTokenMs: Millis;
  readonly perAttendedSquareMs: Millis;
  /** Added to a step with any prefill. */
  readonly prefillMs: Millis;
  /** Added to a step with more tokens than a captured graph has. */
  readonly eagerMs: Millis;
}

export type LatencyCoefficients = LinearLatency | RooflineLatency;

/** vLLM captures CUDA graphs for up to this many tokens. */
const GRAPH_TOKENS_MAX = 512;

export function latencyModel(coefficients: LatencyCoefficients): LatencyModel {
  return coefficients.kind === 'linear'
    ? linearLatency(coefficients)
    : rooflineLatency(coefficients);
}

/** A model whose steps take `factor` times as long. */
export function slowed(model: LatencyModel, factor: number): LatencyModel {
  return factor === 1 ? model : (load) => factor * model(load);
}

/** The model of the policy study: all terms add up. */
function linearLatency(coefficients: LinearLatency): LatencyModel {
  const { baseMs, perPrefillTokenMs, perDecodeSequenceMs, perContextTokenMs } = coefficients;
  return ({ prefillTokens, decodeSequences, contextTokens, draftTokens = 0 }) =>
    baseMs +
    perPrefillTokenMs * (prefillTokens + draftTokens) +
    perDecodeSequenceMs * decodeSequences +
    perContextTokenMs * contextTokens;
}

/**
 * Reading the weights overlaps with computing: √(weights² + (compute · tokens)²), a smooth knee.
 * Fits to published measurements of vLLM 0.11 gave exponents of 1.9 to 2.3. All other terms add up.
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
