import { Counter, type Registry } from 'prom-client';
import type { ObserverSessionOptions } from '../extproc/session/observer-session.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { Log } from '../runtime/log.ts';

export interface ObservingParts {
  readonly picker: EndpointPicker;
  readonly registry: Registry;
  readonly log: Log;
}

/** What looking on at another picker needs beyond reading requests: our pool, a counter of what went by, and the log. */
export function observing({
  picker,
  registry,
  log,
}: ObservingParts): Pick<ObserverSessionOptions, 'knows' | 'onBooked' | 'onUnbooked' | 'onFault'> {
  const requests = new Counter({
    name: 'pointsman_observed_requests_total',
    help: 'Requests that another picker decided, by whether they could be followed and why not.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return {
    knows: (address) => picker.pool.snapshot().some((endpoint) => endpoint.address === address),
    onBooked: () => requests.inc({ outcome: 'booked' }),
    onUnbooked: (outcome, detail) => {
      requests.inc({ outcome });
      log.debug({ outcome, detail }, 'a request that went by is not followed');
    },
    onFault: (error) => {
      requests.inc({ outcome: 'fault' });
      log.error({ err: error }, 'the observer failed on a request, which went on without it');
    },
  };
}
