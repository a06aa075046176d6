import { describe, expect, it } from 'vitest';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf } from '../../src/catalogue/built-in-catalogue.ts';
import { REFERENCE_TYPES } from '../../src/config/reference/reference-table.ts';
import type { Endpoint, EndpointId } from '../../src/framework/endpoint.ts';
import type { Filter } from '../../src/framework/scheduling.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeContext, makePool, makeRequest, makeRuntime, NOW } from '../makers.ts';
import { EDGE_FILTER_TABLES } from './edge-filter-tables.ts';
import { DECIDER_TABLE, FILTER_TABLES, type FilterTable } from './plugin-tables.ts';

const SEEDS = 80;
const TABLES = [...FILTER_TABLES(NOW), ...EDGE_FILTER_TABLES];
const CATALOGUE = catalogueOf(scorers, []);

function kept(table: FilterTable): readonly number[] {
  const { filter: type, parameters = {}, requests = [], tokens = [], endpoints } = table;
  const { filters } = CATALOGUE;
  const definition = [...filters, ...scorers].find((each) => each.type === type);
  const made = definition?.create(definition.config.parse(parameters), makeRuntime());
  const context = makeContext({
    request: makeRequest({
      promptTokens: table.promptTokens ?? 640,
      headers: new Map(Object.entries(table.headers ?? {})),
    }),
    load: endpoints.map((_endpoint, at) => ({
      requests: requests[at] ?? 0,
      pendingPrefillTokens: tokens[at] ?? 0,
    })),
    matchedBlocks: table.matched ?? [],
  });
  const pool = makePool(endpoints).map((endpoint, at) => {
    const { id, address } = endpoint;
    const name = (table.ids?.[at] ?? id) as EndpointId;
    return { ...endpoint, id: name, address: table.addresses?.[at] ?? address };
  });
  const peer = table.peer && makePool([table.peer])[0];
  const given = peer === undefined ? context : { ...context, peer };
  const left = (made as Filter | undefined)?.filter(pool, given) ?? [];
  return left.map(({ slot }) => slot);
}

describe("the reference's filters, deciders and pickers", () => {
  it.each(TABLES.map((table) => [table.filter, table.what, table] as const))(
    '[D130] %s: %s',
    (_filter, _what, table) => {
      expect(kept(table)).toEqual(table.kept);
    },
  );

  it('[D396] endpoint-attribute-filter has a table for each algorithm', () => {
    const algorithms = TABLES.flatMap(({ filter, parameters }) =>
      filter === 'endpoint-attribute-filter'
        ? [(parameters as { readonly algorithm: { readonly type: string } }).algorithm.type]
        : [],
    );
    expect(new Set(algorithms)).toEqual(new Set(['threshold', 'range', 'topK', 'percentile']));
  });

  it('[D393] there is a table for every filter whose inputs are not predictions or lists of models', () => {
    const others = ['slo-headroom-tier-filter', 'served-model-filter'];
    const known = new Set([...TABLES.map(({ filter }) => filter), ...others]);
    const types = [...REFERENCE_TYPES].flatMap(([type, role]) => (role === 'filter' ? [type] : []));
    expect(types.filter((type) => !known.has(type))).toEqual([]);
  });

  it('[D130] prefix-based-pd-decider: by the tokens that the decoder would have to compute', () => {
    const definition = CATALOGUE.deciders.find(({ type }) => type === 'prefix-based-pd-decider');
    const [decode] = makePool([{}]) as readonly [Endpoint];
    const said = DECIDER_TABLE.map(([parameters, promptTokens, matched]) => {
      const request = makeRequest({ promptTokens });
      const context = makeContext({ request, matchedBlocks: [matched] });
      const decider = definition?.create(definition.config.parse(parameters), makeRuntime());
      return decider?.separates(decode, context);
    });
    expect(said).toEqual(DECIDER_TABLE.map(([, , , separates]) => separates));
  });

  it.each([
    ['max-score-picker', ['2,1,0', '2,0,1']],
    ['random-picker', ['0,1,2', '0,2,1', '1,0,2', '1,2,0', '2,0,1', '2,1,0']],
    ['weighted-random-picker', ['2,0,1', '2,1,0', '0,2,1', '0,1,2', '1,0,2', '1,2,0']],
  ])('[D130] %s: ties fall at random, and fallbacks follow', (type, orders) => {
    const definition = CATALOGUE.pickers.find((each) => each.type === type);
    const picker = definition?.create(
      definition.config.parse({ maxNumOfEndpoints: 9 }),
      makeRuntime(),
    );
    const candidates = makePool([{}, {}, {}]).map((endpoint) => ({
      endpoint,
      score: endpoint.slot === 2 ? 3 : 2,
    }));
    const found = new Set<string>();
    for (let seed = 0; seed < SEEDS; seed++) {
      const context = makeContext({ random: seededRandom(seed) });
      const picked = picker?.pick(candidates, context) ?? [];
      found.add(picked.map(({ endpoint }) => endpoint.slot).join());
    }
    expect(found).toEqual(new Set(orders));
  });
});
