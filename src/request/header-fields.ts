import type { InferenceRequest } from '../framework/request.ts';

/** What a request's headers say of it. Where a header has an older name, the current one wins. */
export type HeaderFields = Pick<
  InferenceRequest,
  'objective' | 'fairnessId' | 'ttftSloMs' | 'tpotSloMs'
>;

const DEFAULT_FLOW = 'default-flow';

export function headerFields(headers: ReadonlyMap<string, string>): HeaderFields {
  const first = (...names: readonly string[]): string | undefined => {
    for (const name of names) {
      const value = headers.get(name)?.trim();
      if (value !== undefined && value !== '') return value;
    }
    return undefined;
  };
  return {
    objective: first('x-llm-d-inference-objective', 'x-gateway-inference-objective'),
    fairnessId:
      first('x-llm-d-inference-fairness-id', 'x-gateway-inference-fairness-id') ?? DEFAULT_FLOW,
    ttftSloMs: positive(first('x-llm-d-slo-ttft-ms', 'x-slo-ttft-ms')),
    tpotSloMs: positive(first('x-llm-d-slo-tpot-ms', 'x-slo-tpot-ms')),
  };
}

/** A target that is no positive number is no target: it must not fail the request. */
function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return value > 0 && Number.isFinite(value) ? value : undefined;
}
