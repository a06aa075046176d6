import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { MODELS, SERVED_MODELS } from '../../framework/keys.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

/**
 * Keeps the endpoints that list the model of the request. An endpoint that has not answered yet is
 * kept for a model that no endpoint lists as an adapter, unless `onMissing` is `Fail`.
 */
export const servedModelFilter: FilterDefinition = defineFilter({
  type: 'served-model-filter',
  config: z.strictObject({
    onMissing: z
      .enum(['Pass', 'Fail', ''])
      .default('Pass')
      .transform((given) => given || 'Pass'),
    /** All endpoints stay where none would. */
    fallbackOnEmpty: z.boolean().default(false),
  }),
  needs: () => [SERVED_MODELS],
  create: ({ onMissing, fallbackOnEmpty }) => ({
    filter(endpoints, { request: { model } }) {
      if (model === '') return endpoints;
      const kept = listing(model, endpoints, onMissing === 'Pass');
      return kept.length === 0 && fallbackOnEmpty ? endpoints : kept;
    },
  }),
});

function listing(
  model: string,
  endpoints: readonly Endpoint[],
  keepsUnknown: boolean,
): readonly Endpoint[] {
  const listed = endpoints.map((endpoint) => {
    const models = endpoint.attribute(MODELS);
    return models && (models.find(({ id }) => id === model) ?? 'not listed');
  });
  const isAdapter = listed.some((each) => typeof each === 'object' && each.isAdapter);
  return endpoints.filter((_endpoint, at) => {
    const found = listed[at];
    return found === undefined ? keepsUnknown && !isAdapter : found !== 'not listed';
  });
}
