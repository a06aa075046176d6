import type { Endpoint } from '../../framework/endpoint.ts';
import type { Candidates } from '../../framework/replacement.ts';
import type { Router } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Journal } from '../events/journal.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { subsetOf } from '../pool/subset.ts';
import type { ActiveCores } from './active-cores.ts';

interface PreparingParts {
  readonly cores: ActiveCores;
  readonly pool: EndpointPool;
  /** Leaves ejected endpoints out of what another process is asked about. */
  readonly ejector: { remaining(candidates: readonly Endpoint[]): readonly Endpoint[] };
  readonly journal: Journal;
  readonly stopwatch: Pick<Clock, 'now'> | undefined;
}

/** `Router.prepare` of a picker, by the core that decides the request; its time is published. */
export function preparing({
  cores,
  pool,
  ejector,
  journal,
  stopwatch,
}: PreparingParts): Required<Router>['prepare'] {
  return (request, body, ready, { subset } = {}) => {
    const startedAt = stopwatch?.now() ?? 0;
    const done = (): void => {
      if (stopwatch !== undefined) journal.prepared(request, stopwatch.now() - startedAt);
      ready();
    };
    const candidates = (): Candidates => ({
      endpoints: ejector.remaining(subsetOf(pool.snapshot(), subset)),
      all: subset === undefined,
    });
    return cores.prepare(
      request,
      (core, coreReady) => core.prepare?.(request, body, candidates, coreReady) ?? false,
      done,
    );
  };
}
