import { describe, expect, it } from 'vitest';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf } from '../../src/catalogue/built-in-catalogue.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Filter } from '../../src/framework/scheduling.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeContext, makePool, makeRequest, makeRuntime, NOW } from '../makers.ts';
import { DECIDER_TABLE, FILTER_TABLES, type FilterTable } from './plugin-tables.ts';

const SEEDS = 80;
const CATALOGUE = catalogueOf(scorers, []);

function kept(table: FilterTable): readonly number[] {
  const { filter: type, parameters = {}, requests = [], tokens = [], endpoints } = table;
  const { filters } = CATALOGUE;
  const definition = [...filters, ...scorers].find((each) => each.type === type);
  const made = definition?.create(definition.config.parse(parameters), makeRuntime());
  const context = makeContext({
    request: makeRequest({ promptTokens: table.promptTokens ?? 640 }),
    load: endpoints.map((_endpoint, at) => ({
      requests: requests[at] ?? 0,
      pendingPrefillTokens: tokens[at] ?? 0,
    })),
    matchedBlocks: table.matched ?? [],
  });
  const left = (made as Filter | undefined)?.filter(makePool(endpoints), context) ?? [];
  return left.map(({ slot }) => slot);
}

describe("the reference's filters, deciders and pickers", () => {
  it.each(FILTER_TABLES(NOW).map((table) => [table.filter, table.what, table] as const))(
    '[D130] %s: %s',
    (_filter, _what, table) => {
      expect(kept(table)).toEqual(table.kept);
    },
  );

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
