import type { Command } from 'commander';
import type { DrainOptions, RequestOptions } from '../../serve/options/serve-options.ts';
import { wholeNumber } from './option-values.ts';

/** More than two of the health check intervals of Envoy in deploy/, which are 2 s. */
const DRAIN_NOTICE_MS = 5_000;
const DRAIN_TIMEOUT_MS = 30_000;
/** 25 hours: longer than the longest limit of a request in deploy/envoy.yaml, which is a day. */
const RESERVATION_AGE_MS_MAX = 90_000_000;

/** They reach `startServe` as they are. */
export type DrainFlags = DrainOptions & Pick<RequestOptions, 'maxReservationAgeMs'>;

/** How the picker goes out of service, and when it gives up a request whose end nobody reports. */
export function addDrainOptions(command: Command): Command {
  return command
    .option(
      '--drain-notice-ms <ms>',
      'after SIGTERM, report NOT_SERVING and go on accepting requests for this long: at least two ' +
        'health check intervals of the gateway',
      wholeNumber,
      DRAIN_NOTICE_MS,
    )
    .option(
      '--max-reservation-age-ms <ms>',
      'release the load of a request whose end was not reported after this long; more than your ' +
        'gateway’s longest time limit; 0 for no limit',
      wholeNumber,
      RESERVATION_AGE_MS_MAX,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'after that, wait this long for requests in flight',
      wholeNumber,
      DRAIN_TIMEOUT_MS,
    );
}
