import { z } from 'zod';
import { SERVED_MODELS } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { MODELS } from '../../framework/endpoint-attributes.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { type OnMissing, onMissing } from '../parameters/on-missing.ts';

export const SERVED_MODEL_FILTER = 'served-model-filter';

/** What the filter decided about one request, under the reference's names. */
export const SERVED_MODEL_OUTCOMES = [
  'listed',
  'unlisted',
  'fallback',
  'empty',
  'not_applicable',
] as const;
export type ServedModelOutcome = (typeof SERVED_MODEL_OUTCOMES)[number];

export interface ServedModelConfig {
  readonly onMissing: OnMissing;
  readonly fallbackOnEmpty: boolean;
}

const config: z.ZodType<ServedModelConfig> = z.lazy(() =>
  z.strictObject({
    onMissing,
    /** All endpoints stay where none would. */
    fallbackOnEmpty: z.boolean().default(false),
  }),
);

/**
 * Keeps the endpoints that list the model of the request. An endpoint that has not answered yet is
 * kept for a model that no endpoint lists as an adapter, unless `onMissing` is `Fail`.
 */
export const servedModelFilter: FilterDefinition = defineFilter({
  type: SERVED_MODEL_FILTER,
  config,
  needs: () => [SERVED_MODELS],
  create: ({ onMissing, fallbackOnEmpty }) => ({
    filter(endpoints, { request: { model } }) {
      if (model === '') return endpoints;
      const kept = listing(model, endpoints, onMissing);
      return kept.length === 0 && fallbackOnEmpty ? endpoints : kept;
    },
  }),
});

function listing(
  model: string,
  endpoints: readonly Endpoint[],
  onMissing: ServedModelConfig['onMissing'],
): readonly Endpoint[] {
  const listed = endpoints.map((endpoint) => {
    const models = endpoint.attribute(MODELS);
    return models && (models.find(({ id }) => id === model) ?? 'not listed');
  });
  const isAdapter = listed.some((each) => typeof each === 'object' && each.isAdapter);
  return endpoints.filter((_endpoint, at) => {
    const found = listed[at];
    return found === undefined ? onMissing === 'Pass' && !isAdapter : found !== 'not listed';
  });
}

/** Why the filter has kept `kept` of `endpoints`, and how many of these list no models yet. */
export function servedModelOutcome(
  { onMissing }: ServedModelConfig,
  { endpoints, kept }: Readonly<Record<'endpoints' | 'kept', readonly Endpoint[]>>,
  model: string,
): { readonly outcome: ServedModelOutcome; readonly unlisted: number } {
  if (model === '') return { outcome: 'not_applicable', unlisted: 0 };
  let unlisted = 0;
  let isListed = false;
  for (const endpoint of endpoints) {
    const models = endpoint.attribute(MODELS);
    if (models === undefined) unlisted += 1;
    else isListed ||= models.some(({ id }) => id === model);
  }
  if (isListed) return { outcome: 'listed', unlisted };
  if (kept.length === 0) return { outcome: 'empty', unlisted };
  return { outcome: onMissing === 'Pass' && unlisted > 0 ? 'unlisted' : 'fallback', unlisted };
}
