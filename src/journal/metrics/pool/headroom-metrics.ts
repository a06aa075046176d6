import type { Registry } from 'prom-client';
import type { Headroom } from '../../headroom/headroom.ts';
import type { HeadroomReport, Rates, StageHeadroom } from '../../headroom/headroom-report.ts';
import { endpointLabels, type MetricSample, showMetric } from '../page/family.ts';

type ReadStage = (stage: StageHeadroom) => number | undefined;

const rate =
  (of: (stage: StageHeadroom) => Rates | undefined, which: keyof Rates): ReadStage =>
  (stage) =>
    of(stage)?.[which];
const requests = (stage: StageHeadroom): Rates | undefined => stage.requestsPerSecond;
const tokens = (stage: StageHeadroom): Rates | undefined => stage.tokensPerSecond;

const BY_STAGE: readonly (readonly [name: string, help: string, read: ReadStage])[] = [
  ['demand_requests_per_second', 'Requests that arrive.', rate(requests, 'used')],
  ['capacity_requests_per_second', 'Requests served with goodput.', rate(requests, 'capacity')],
  ['headroom_requests_per_second', 'Requests that more could arrive.', rate(requests, 'left')],
  ['demand_tokens_per_second', 'Tokens of arriving requests.', rate(tokens, 'used')],
  ['capacity_tokens_per_second', 'Tokens served with goodput.', rate(tokens, 'capacity')],
  ['headroom_tokens_per_second', 'Tokens that more could arrive.', rate(tokens, 'left')],
  ['capacity_utilization', 'Demand over capacity.', (stage) => stage.utilization],
  ['saturation', 'Above 1, one more request lowers goodput.', (stage) => stage.saturation],
  [
    'time_to_saturation_seconds',
    'Until demand reaches capacity as it grows now; +Inf where it does not.',
    ({ secondsToSaturation = Number.POSITIVE_INFINITY }) => secondsToSaturation,
  ],
  [
    'desired_replicas',
    'Replicas for the demand that is foreseen.',
    (stage) => stage.desiredReplicas,
  ],
  [
    'needed_replicas',
    'Replicas that the requests of this picker need, as a fraction: several pickers add up.',
    (stage) => stage.neededReplicas,
  ],
  ['replicas', 'Replicas there are.', (stage) => stage.replicas],
];

/** Shows how much more the pool can serve. */
export function registerHeadroomMetrics(registry: Registry, headroom: Headroom): void {
  const gauge = (
    name: string,
    help: string,
    samples: (report: HeadroomReport) => readonly MetricSample[],
  ): void =>
    showMetric(registry, { name: `pointsman_${name}`, help, type: 'gauge' }, () =>
      samples(headroom.report()),
    );
  for (const [name, help, read] of BY_STAGE) {
    gauge(name, help, ({ stages }) =>
      stages.flatMap((stage) => {
        const value = read(stage);
        return value === undefined ? [] : [{ labels: { stage: stage.stage }, value }];
      }),
    );
  }
  gauge('endpoint_saturation', 'Above 1, one more request there lowers goodput.', (report) =>
    [...report.endpoints].map(([id, value]) => ({ labels: endpointLabels(id), value })),
  );
}
