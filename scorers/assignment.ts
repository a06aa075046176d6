import { z } from 'zod';
import { assignmentKey, DEFAULT_ASSIGNMENT_PRODUCER } from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Prefers the endpoints assigned to the request's class, then those assigned to none. */
export const assignment: ScorerDefinition = defineScorer({
  type: 'assignment-scorer',
  config: z.lazy(() =>
    z.strictObject({
      assignmentProducerName: z.string().min(1).default(DEFAULT_ASSIGNMENT_PRODUCER),
    }),
  ),
  needs: ({ assignmentProducerName }) => [assignmentKey(assignmentProducerName)],
  create: ({ assignmentProducerName }) => ({
    score(endpoints, context) {
      const view = context.get(assignmentKey(assignmentProducerName));
      const wanted = view.classOf(context.request);
      return endpoints.map((endpoint) => {
        const name = view.assigned(endpoint);
        if (name === undefined || wanted === undefined) return 0.5;
        return name === wanted ? 1 : 0;
      });
    },
  }),
});
