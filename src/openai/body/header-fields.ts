import { DEFAULT_FLOW, type InferenceRequest } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';

/** The current name first. */
export const FAIRNESS_HEADERS = [
  'x-llm-d-inference-fairness-id',
  'x-gateway-inference-fairness-id',
] as const;

/** The priority of requests with an objective, or with none. */
export type PriorityOf = (objective: string | undefined) => number;

interface HeaderOptions {
  /** Shortens long values: clients choose them. */
  readonly hash: KeyedHash;
  readonly priorityOf: PriorityOf;
}

type HeaderFields = Pick<
  InferenceRequest,
  'priority' | 'objective' | 'fairnessId' | 'ttftSloMs' | 'tpotSloMs' | 'headers'
>;

/** What the headers say, for requests of every API. Current header names win over older ones. */
export function readHeaderFields(
  headers: ReadonlyMap<string, string>,
  { hash, priorityOf }: HeaderOptions,
): HeaderFields {
  const first = (...names: readonly string[]): string | undefined => {
    const value = firstOf(headers, names);
    return value === undefined ? undefined : hash.bounded(value);
  };
  const objective = first('x-llm-d-inference-objective', 'x-gateway-inference-objective');
  return {
    priority: priorityOf(objective),
    objective,
    fairnessId: readFairnessId(headers, hash),
    ttftSloMs: positive(first('x-llm-d-slo-ttft-ms', 'x-slo-ttft-ms')),
    tpotSloMs: positive(first('x-llm-d-slo-tpot-ms', 'x-slo-tpot-ms')),
    headers,
  };
}

/** `hash` shortens long values: clients choose them. */
export function readFairnessId(headers: ReadonlyMap<string, string>, hash: KeyedHash): string {
  const given = firstOf(headers, FAIRNESS_HEADERS);
  return given === undefined ? DEFAULT_FLOW : hash.bounded(given);
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
