import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Scores 1 for endpoints whose label has the value of a header of the request, else 0. */
export const headerLabelAffinity: ScorerDefinition = defineScorer({
  type: 'header-label-affinity-scorer',
  config: z.lazy(() =>
    z.strictObject({
      headerName: z.string().min(1).toLowerCase(),
      labelKey: z.string().min(1),
    }),
  ),
  headers: ({ headerName }) => [{ name: headerName, as: 'name' }],
  create: ({ headerName, labelKey }) => ({
    score(endpoints, { request }) {
      const wanted = request.headers.get(headerName);
      return endpoints.map(({ labels }) =>
        wanted !== undefined && wanted !== '' && labels.get(labelKey) === wanted ? 1 : 0,
      );
    },
  }),
});
