import type { Registry } from 'prom-client';
import {
  ROLLOUT_SCREENER,
  type RolloutReport,
  RolloutScreener,
} from '../../../plugins/screeners/disaggregatedset-rollout.ts';
import { type MetricSample, showMetric } from '../page/family.ts';

/** Shows rollouts of sets of prefill and decode servers, if a plugin follows any. */
export function registerRollouts(registry: Registry, observers: () => readonly object[]): void {
  const samples = (of: (report: RolloutReport) => readonly MetricSample[]) => () =>
    observers().flatMap((each) => (each instanceof RolloutScreener ? of(each.rollout()) : []));
  const base = ({ plugin }: RolloutReport): MetricSample['labels'] => ({
    plugin_type: ROLLOUT_SCREENER,
    plugin_name: plugin,
  });
  showMetric(
    registry,
    {
      name: 'llm_d_epp_disaggregatedset_strict_header_no_match_total',
      help: '[ALPHA] Requests whose strict header matched no endpoint, by selector.',
      type: 'counter',
    },
    samples((report) =>
      [...report.unmatched].map(([selector, value]) => ({
        labels: { ...base(report), selector },
        value,
      })),
    ),
  );
  // The name and labels that later versions of the reference have.
  showMetric(
    registry,
    {
      name: 'llm_d_epp_disaggregatedset_strict_revision_no_match_total',
      help: '[ALPHA] Requests for a revision without an endpoint.',
      type: 'counter',
    },
    samples((report) => {
      const value = report.unmatched.get('revision');
      return value === undefined ? [] : [{ labels: base(report), value }];
    }),
  );
  showMetric(
    registry,
    {
      name: 'llm_d_epp_disaggregatedset_revision_gating_share',
      help: '[ALPHA] Share of requests that a revision gets: 0 where it lacks a role.',
      type: 'gauge',
    },
    samples((report) =>
      [...report.shares].map(([revision, value]) => ({
        labels: { ...base(report), mode: report.mode, revision },
        value,
      })),
    ),
  );
}
