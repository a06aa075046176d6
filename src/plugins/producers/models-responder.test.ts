import { describe, expect, test } from 'vitest';
import { makeContext, makeEndpoint, makeRequest, makeRuntime } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { MODELS, type ServedModel } from '../../framework/endpoint-attributes.ts';
import { RoutingError } from '../../framework/error.ts';
import { modelsResponder } from './models-responder.ts';

const pool = { snapshot: () => [], observe: () => undefined, set: () => undefined };
const responder = modelsResponder.start({}, { name: 'r', pool, runtime: makeRuntime() });

/** An endpoint that lists these models, `+` before an adapter; undefined: no answer yet. */
function listing(name: string, models: readonly string[] | undefined): Endpoint {
  const served: readonly ServedModel[] | undefined = models?.map((model) => ({
    id: model.replace('+', ''),
    isAdapter: model.startsWith('+'),
    owned_by: name,
  }));
  return makeEndpoint(name, { attributes: [[MODELS as never, served]] });
}

function screened(model: string, lists: readonly (readonly string[] | undefined)[]): string {
  const endpoints = lists.map((models, index) => listing(`p${index}`, models));
  const context = makeContext({ request: makeRequest({ model }) });
  const left = responder.screen?.(endpoints, context) ?? [];
  return left.map(({ id }) => id).join(' ');
}

describe('requests for a model', () => {
  test.each<[string, string, readonly (readonly string[] | undefined)[], string]>([
    ['no model: all', '', [['a'], undefined], 'p0 p1'],
    [
      'a base model: those that list it or have not answered',
      'a',
      [['a'], ['b'], undefined],
      'p0 p2',
    ],
    ['an adapter: only those that list it', 'l', [['a', '+l'], ['a'], undefined], 'p0'],
    ['listed nowhere: those that have not answered', 'x', [['a'], undefined, undefined], 'p1 p2'],
    ['listed nowhere, and all have answered: all', 'x', [['a'], ['b']], 'p0 p1'],
    ['listed everywhere: all', 'a', [['a'], ['a', 'b']], 'p0 p1'],
    [
      'an adapter here and a base model there: only those that list it',
      'l',
      [['+l'], ['l'], undefined],
      'p0 p1',
    ],
  ])('[D58] %s', (_name, model, lists, left) => {
    expect(screened(model, lists)).toBe(left);
  });
});

describe('GET /v1/models', () => {
  const endpoints = [
    listing('p1', ['b', 'a']),
    listing('p0', ['+l', 'a']),
    listing('p2', undefined),
  ];
  const respond = (method: string, path: string, pool: readonly Endpoint[] = endpoints) =>
    responder.respond?.({ method, path }, pool);

  test.each(['/v1/models', '/v1/models/', '/v1/models?limit=1'])(
    '[D59] %s is answered with each model once, sorted, by the first endpoint that lists it',
    (path) => {
      const answer = respond('GET', path);
      expect(answer?.status).toBe(200);
      expect(answer?.contentType).toBe('application/json');
      expect(JSON.parse(answer?.body ?? '')).toEqual({
        object: 'list',
        data: [
          { id: 'a', owned_by: 'p0' },
          { id: 'b', owned_by: 'p1' },
          { id: 'l', owned_by: 'p0' },
        ],
      });
    },
  );

  test.each([
    ['POST', '/v1/models'],
    ['GET', '/v1/models/a'],
    ['GET', '/v2/models'],
    ['HEAD', '/v1/models'],
  ])('[D59] %s %s goes to a model server', (method, path) => {
    expect(respond(method, path)).toBeUndefined();
  });

  test('[D59] is refused with 503 while no endpoint has answered', () => {
    for (const none of [[], [listing('p2', undefined)]]) {
      expect(() => respond('GET', '/v1/models', none)).toThrow(RoutingError);
    }
    const empty = [listing('p0', [])];
    expect(JSON.parse(respond('GET', '/v1/models', empty)?.body ?? '')).toMatchObject({ data: [] });
  });
});
