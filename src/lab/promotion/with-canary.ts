import { RoutingError } from '../../framework/error.ts';
import type { Router } from '../../framework/routing.ts';
import type { Canary } from './canary.ts';

/**
 * A router whose refusals the canary counts. A request that the challenger's scheduler throws at goes to the one in charge, and
 * `onThrown` is told: nobody loses a request to a challenger.
 */
export function withCanary(
  router: Router,
  canary: Canary,
  onThrown: (error: unknown) => void,
): Pick<Router, 'route'> {
  return {
    route(request, options) {
      try {
        return router.route(request, options);
      } catch (error) {
        if (error instanceof RoutingError) {
          canary.refused(request);
          throw error;
        }
        if (!canary.takes(request)) throw error;
        canary.fallBack(request);
        onThrown(error);
        return router.route(request, options);
      }
    },
  };
}
