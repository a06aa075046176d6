import { z } from 'zod';
import {
  assignmentKey,
  DEFAULT_ASSIGNMENT_PRODUCER,
  IN_FLIGHT,
} from '../../framework/cycle-facts.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

/**
 * Keeps the endpoints assigned to the request's class and those assigned to no class. Keeps all
 * where that leaves none, or where each of them has more than `spillRequests` of our requests in
 * flight: a division must not leave other endpoints idle.
 */
export const assignmentFilter: FilterDefinition = defineFilter({
  type: 'assignment-filter',
  config: z.lazy(() =>
    z.strictObject({
      assignmentProducerName: z.string().min(1).default(DEFAULT_ASSIGNMENT_PRODUCER),
      spillRequests: z.int().positive().optional(),
    }),
  ),
  needs: ({ assignmentProducerName }) => [assignmentKey(assignmentProducerName), IN_FLIGHT],
  create: ({ assignmentProducerName, spillRequests = Number.POSITIVE_INFINITY }) => ({
    filter(endpoints, context) {
      const assignment = context.get(assignmentKey(assignmentProducerName));
      const wanted = assignment.classOf(context.request);
      if (wanted === undefined) return endpoints;
      const kept = endpoints.filter((endpoint) => {
        const name = assignment.assigned(endpoint);
        return name === undefined || name === wanted;
      });
      const inFlight = context.get(IN_FLIGHT);
      const full = kept.every((endpoint) => inFlight.load(endpoint).requests > spillRequests);
      return kept.length === 0 || full ? endpoints : kept;
    },
  }),
});
