import { z } from 'zod';
import { SERVED_MODELS } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { MODELS, type ServedModel } from '../../framework/endpoint-attributes.ts';
import { RoutingError } from '../../framework/error.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

const PATH = '/v1/models';

/**
 * Answers `GET /v1/models` with the models of all endpoints, and sends requests for a model only to
 * endpoints that list it, or that may.
 */
export const modelsResponder: DataSourceDefinition = defineDataSource({
  type: 'models-responder',
  config: z.looseObject({}),
  needs: () => [SERVED_MODELS],
  start: () => ({
    screen: (endpoints, { request }) => servingModel(request.model, endpoints),
    respond({ method, path }, endpoints) {
      if (method !== 'GET' || pathWithoutQuery(path) !== PATH) return undefined;
      const body = JSON.stringify({ object: 'list', data: modelsOf(endpoints) });
      return { status: 200, contentType: 'application/json', body };
    },
    stop: () => undefined,
  }),
});

function pathWithoutQuery(path: string): string {
  const [before = ''] = path.split('?', 1);
  return before.endsWith('/') ? before.slice(0, -1) : before;
}

/**
 * The endpoints that list the model. For a base model also those that have not answered yet. Where
 * no endpoint lists the model: those that have not answered, or all endpoints if all have answered,
 * because lists may be incomplete.
 */
function servingModel(model: string, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (model === '') return endpoints;
  const listing = new Set<Endpoint>();
  let unanswered = 0;
  let isAdapter = false;
  for (const endpoint of endpoints) {
    const models = endpoint.attribute(MODELS);
    if (models === undefined) unanswered += 1;
    const found = models?.find(({ id }) => id === model);
    if (found === undefined) continue;
    listing.add(endpoint);
    isAdapter ||= found.isAdapter;
  }
  const all = listing.size === 0 ? unanswered === 0 : listing.size === endpoints.length;
  if (all) return endpoints;
  const hasNotAnswered = (endpoint: Endpoint): boolean => endpoint.attribute(MODELS) === undefined;
  return endpoints.filter(
    (endpoint) =>
      listing.has(endpoint) || (hasNotAnswered(endpoint) && !(listing.size > 0 && isAdapter)),
  );
}

/** Each model once, sorted by id, as the endpoint with the first id in order describes it. */
function modelsOf(endpoints: readonly Endpoint[]): readonly Omit<ServedModel, 'isAdapter'>[] {
  const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
    a.id < b.id ? -1 : Number(a.id > b.id);
  const models = new Map<string, Omit<ServedModel, 'isAdapter'>>();
  let answered = 0;
  for (const endpoint of endpoints.toSorted(byId)) {
    const listed = endpoint.attribute(MODELS);
    if (listed === undefined) continue;
    answered += 1;
    for (const { isAdapter: _, ...model } of listed) {
      if (model.id !== '' && !models.has(model.id)) models.set(model.id, model);
    }
  }
  if (answered === 0) {
    throw new RoutingError(
      'no-endpoints',
      `none of ${endpoints.length} endpoints has said yet which models it serves; try again`,
    );
  }
  return [...models.values()].sort(byId);
}
