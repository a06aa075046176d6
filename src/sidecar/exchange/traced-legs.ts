import type { LegStage, RequestTracing, TraceAttributes } from '../options/sidecar-options.ts';
import type { LegSender, UpstreamServer } from '../servers/upstreams.ts';

/** A bootstrap server is asked about servers, and not to do a part of the request. */
const STAGES: Readonly<Record<UpstreamServer, LegStage | undefined>> = {
  encoder: 'encode',
  prefiller: 'prefill',
  decoder: 'decode',
  bootstrap: undefined,
};

/** Sends as `legs` does, with a span for each leg: from the request to the end of its answer. */
export function tracedLegs(
  legs: LegSender,
  tracing: RequestTracing,
  attributes: TraceAttributes,
): LegSender {
  return {
    async request(role, request) {
      const stage = STAGES[role];
      if (stage === undefined) return legs.request(role, request);
      const span = tracing.leg(stage, {
        ...attributes,
        [`llm_d.pd_proxy.${stage}_target`]: request.server,
      });
      try {
        const headers = { ...request.headers, ...span.headers };
        const answer = await legs.request(role, { ...request, headers });
        const { statusCode, body } = answer;
        const code = { [`llm_d.pd_proxy.${stage}.status_code`]: statusCode };
        const failure = statusCode >= 400 ? `answered ${statusCode}` : undefined;
        body.once('close', () => span.end(code, failure ?? body.errored?.message));
        return answer;
      } catch (error) {
        span.end({}, error instanceof Error ? error.message : String(error));
        throw error;
      }
    },
  };
}
