import type { KeyedHash } from '../../framework/keyed-hash.ts';
import { DEFAULT_FLOW, type InferenceRequest } from '../../framework/request.ts';

/** The current name first. */
export const FAIRNESS_HEADERS = [
  'x-llm-d-inference-fairness-id',
  'x-gateway-inference-fairness-id',
] as const;

type HeaderFields = Pick<InferenceRequest, 'objective' | 'fairnessId' | 'ttftSloMs' | 'tpotSloMs'>;

/** Current header names win over older ones. `hash` shortens long values: clients choose them. */
export function readHeaderFields(
  headers: ReadonlyMap<string, string>,
  hash: KeyedHash,
): HeaderFields {
  const first = (...names: readonly string[]): string | undefined => {
    const value = firstOf(headers, names);
    return value === undefined ? undefined : hash.bounded(value);
  };
  return {
    objective: first('x-llm-d-inference-objective', 'x-gateway-inference-objective'),
    fairnessId: first(...FAIRNESS_HEADERS) ?? DEFAULT_FLOW,
    ttftSloMs: positive(first('x-llm-d-slo-ttft-ms', 'x-slo-ttft-ms')),
    tpotSloMs: positive(first('x-llm-d-slo-tpot-ms', 'x-slo-tpot-ms')),
  };
}

/** The model that a header asks for in place of the one in the body. */
export function modelRewriteHeader(headers: ReadonlyMap<string, string>): string | undefined {
  return firstOf(headers, ['x-llm-d-model-name-rewrite', 'x-gateway-model-name-rewrite']);
}

function firstOf(
  headers: ReadonlyMap<string, string>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const value = headers.get(name)?.trim();
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}

/** Ignores a target that is not a positive number: it must not fail the request. */
function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return value > 0 && Number.isFinite(value) ? value : undefined;
}
