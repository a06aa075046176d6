import type { Attributes } from '@opentelemetry/api';
import { DEFAULT_FLOW } from '../../framework/request.ts';
import type { ProfileResult } from '../../framework/scheduling.ts';
import { modelOf, type RequestRecord, requestIdOf, statusOf } from '../requests/request-record.ts';

/** The best endpoints that a span names. */
const TOP_ENDPOINTS_MAX = 3;
/** Longer texts of clients are cut. */
const TEXT_MAX = 256;

const cut = (text: string): string => text.slice(0, TEXT_MAX);

/** Attributes of the span of the whole request. Names of `gen_ai`, and `llm_d` of the reference. */
export function requestAttributes(record: RequestRecord): Attributes {
  const { routed, usage, outcome, error, servedBy } = record;
  const attributes: Attributes = {
    'gen_ai.request.id': cut(requestIdOf(record)),
    'gen_ai.request.model': cut(modelOf(record)),
    'pointsman.request.id': record.head.id,
  };
  const status = statusOf(record);
  if (status !== undefined) attributes['http.response.status_code'] = status;
  if (error !== undefined) attributes['error.type'] = error.code;
  if (outcome !== undefined) attributes['pointsman.outcome'] = outcome;
  if (routed !== undefined) {
    attributes['pointsman.endpoint'] = routed.endpoint.id;
    attributes['pointsman.endpoint.address'] = servedBy ?? routed.endpoint.address;
  }
  if (usage !== undefined) {
    attributes['gen_ai.usage.input_tokens'] = usage.promptTokens;
    attributes['gen_ai.usage.output_tokens'] = usage.completionTokens;
    if (usage.cachedTokens !== undefined)
      attributes['gen_ai.usage.cache_read.input_tokens'] = usage.cachedTokens;
  }
  return attributes;
}

/** Attributes of the span of waiting and deciding. */
export function orchestrationAttributes(record: RequestRecord): Attributes {
  const { request, routed, decidedBy } = record;
  if (request === undefined) return {};
  const { fairnessId, priority, model, promptTokens } = request;
  const attributes: Attributes = {
    request_prio: priority,
    target_model: cut(model),
    'llm_d.epp.fairness.id': cut(fairnessId),
    'llm_d.epp.fairness.source': fairnessId === DEFAULT_FLOW ? 'default' : 'header',
    'pointsman.prompt_tokens': promptTokens,
  };
  if (decidedBy !== undefined) attributes['pointsman.decided_by'] = decidedBy;
  if (routed === undefined) return attributes;
  attributes['pointsman.cached_tokens'] = routed.cachedTokens;
  attributes['llm_d.epp.pd.disaggregation_used'] = routed.prefill !== undefined;
  if (routed.expectedTtftMs !== undefined)
    attributes['pointsman.expected_ttft_ms'] = routed.expectedTtftMs;
  if (routed.prefill !== undefined) {
    const { address } = routed.prefill;
    const colon = address.lastIndexOf(':');
    attributes['llm_d.epp.pd.prefill_pod_address'] = address.slice(0, colon);
    attributes['llm_d.epp.pd.prefill_pod_port'] = address.slice(colon + 1);
  }
  return attributes;
}

/** Attributes of the span of one profile; `candidates` came before its filters. */
export function profileAttributes(result: ProfileResult, candidates: number): Attributes {
  const { run } = result;
  const attributes: Attributes = {
    'llm_d.epp.scheduling.profile.name': result.profile,
    'llm_d.epp.filter.candidate_endpoints': candidates,
  };
  if (run !== undefined) {
    attributes['llm_d.epp.filter.filtered_endpoints'] = run.kept.at(-1)?.length ?? candidates;
    attributes['llm_d.epp.scorer.count'] = run.profile.scorers.length;
    attributes['llm_d.epp.picker.candidate_endpoints'] = run.scored.length;
  }
  if (result.kind === 'exhausted') return attributes;
  const top = result.targets.slice(0, TOP_ENDPOINTS_MAX);
  attributes['llm_d.epp.picker.top_endpoints'] = top.map(({ endpoint }) => endpoint.id);
  attributes['llm_d.epp.picker.top_scores'] = top.map(({ score }) => score);
  return attributes;
}
