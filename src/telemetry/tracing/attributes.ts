import { DEFAULT_FLOW } from '../../framework/request.ts';
import type { ProfileResult } from '../../framework/scheduling.ts';
import { hostOf, portOf } from '../../framework/values/server-address.ts';
import { modelOf, type RequestRecord, requestIdOf, statusOf } from '../requests/request-record.ts';

/** The best endpoints that a span names. */
const TOP_ENDPOINTS_MAX = 3;
/** Longer texts of clients are cut. */
const TEXT_MAX = 256;

export type AttributeValue = string | number | boolean | readonly string[] | readonly number[];
/** Gets the attributes of a span, one after the other. */
export type PutAttribute = (name: string, value: AttributeValue) => void;

const cut = (text: string): string => text.slice(0, TEXT_MAX);

/** Attributes of the span of the whole request. Names of `gen_ai`, and `llm_d` of the reference. */
export function requestAttributes(record: RequestRecord, put: PutAttribute): void {
  const { routed, usage, outcome, error, servedBy } = record;
  put('gen_ai.request.id', cut(requestIdOf(record)));
  put('gen_ai.request.model', cut(modelOf(record)));
  put('pointsman.request.id', record.head.id);
  const status = statusOf(record);
  if (status !== undefined) put('http.response.status_code', status);
  if (error !== undefined) put('error.type', error.code);
  if (outcome !== undefined) put('pointsman.outcome', outcome);
  if (routed !== undefined) {
    put('pointsman.endpoint', routed.endpoint.id);
    put('pointsman.endpoint.address', servedBy ?? routed.endpoint.address);
  }
  if (usage !== undefined) {
    put('gen_ai.usage.input_tokens', usage.promptTokens);
    put('gen_ai.usage.output_tokens', usage.completionTokens);
    if (usage.cachedTokens !== undefined)
      put('gen_ai.usage.cache_read.input_tokens', usage.cachedTokens);
  }
}

/** Attributes of the span of waiting and deciding. */
export function orchestrationAttributes(record: RequestRecord, put: PutAttribute): void {
  const { request, routed, decidedBy } = record;
  if (request === undefined) return;
  const { fairnessId, priority, model, promptTokens } = request;
  put('request_prio', priority);
  put('target_model', cut(model));
  put('llm_d.epp.fairness.id', cut(fairnessId));
  put('llm_d.epp.fairness.source', fairnessId === DEFAULT_FLOW ? 'default' : 'header');
  put('pointsman.prompt_tokens', promptTokens);
  if (decidedBy !== undefined) put('pointsman.decided_by', decidedBy);
  if (routed === undefined) return;
  put('pointsman.cached_tokens', routed.cachedTokens);
  put('llm_d.epp.pd.disaggregation_used', routed.prefill !== undefined);
  if (routed.expectedTtftMs !== undefined) put('pointsman.expected_ttft_ms', routed.expectedTtftMs);
  if (routed.prefill !== undefined) {
    const { address } = routed.prefill;
    put('llm_d.epp.pd.prefill_pod_address', hostOf(address));
    put('llm_d.epp.pd.prefill_pod_port', portOf(address));
  }
}

/** Attributes of the span of one profile; `candidates` came before its filters. */
export function profileAttributes(
  result: ProfileResult,
  candidates: number,
  put: PutAttribute,
): void {
  const { run } = result;
  put('llm_d.epp.scheduling.profile.name', result.profile);
  put('llm_d.epp.filter.candidate_endpoints', candidates);
  if (run !== undefined) {
    put('llm_d.epp.filter.filtered_endpoints', run.kept.at(-1)?.length ?? candidates);
    put('llm_d.epp.scorer.count', run.profile.scorers.length);
    put('llm_d.epp.picker.candidate_endpoints', run.totals.length);
  }
  if (result.kind === 'exhausted') return;
  const top = result.targets.slice(0, TOP_ENDPOINTS_MAX);
  put(
    'llm_d.epp.picker.top_endpoints',
    top.map(({ endpoint }) => endpoint.id),
  );
  put(
    'llm_d.epp.picker.top_scores',
    top.map(({ score }) => score),
  );
}
