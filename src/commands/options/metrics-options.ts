import type { Command } from 'commander';
import { METRICS_STALE_MS } from '../../framework/endpoint.ts';
import { IDLE_MS, LINES_MAX } from '../../journal/metrics/page/series-limit.ts';
import { LOOP_DELAY_MAX_MS } from '../../journal/metrics/process/loop-watchdog.ts';
import { FAIRNESS_IDS_MAX } from '../../journal/metrics/requests/request-series.ts';
import type { MetricsOptions } from '../../serve/options/serve-options.ts';
import { atLeastOne, wholeNumber } from './option-values.ts';

/** Flags of `serve` about its metrics page, which `startServe` takes as they are. */
export type MetricsFlags = MetricsOptions;

export function addMetricsOptions(command: Command): Command {
  return command
    .option(
      '--metrics-max-series <n>',
      'most lines of the metrics page whose labels clients choose; what comes beyond is `other`',
      atLeastOne,
      LINES_MAX,
    )
    .option(
      '--metrics-idle-ms <ms>',
      'drop such lines when nothing has used them for this long',
      atLeastOne,
      IDLE_MS,
    )
    .option(
      '--metrics-max-fairness-ids <n>',
      'most fairness ids with lines of their own; further ones are `other`, and with 0 all are',
      wholeNumber,
      FAIRNESS_IDS_MAX,
    )
    .option(
      '--deprecated-metrics',
      'show metrics under former names of the reference picker, too; its own command line does',
      false,
    )
    .option('--grpc-stream-metrics', 'show streams of gateways as the reference does', false)
    .option(
      '--metrics-stale-ms <ms>',
      'count a model server as ready in metrics and /readyz while its sample is at most this old',
      atLeastOne,
      METRICS_STALE_MS,
    )
    .option(
      '--loop-delay-max-ms <ms>',
      'degraded while the event loop is later than this at p99 over 5 seconds; 0 never is',
      wholeNumber,
      LOOP_DELAY_MAX_MS,
    );
}
