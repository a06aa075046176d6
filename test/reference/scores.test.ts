import { describe, expect, it } from 'vitest';
import { scorers } from '../../scorers/index.ts';
import { REFERENCE_TYPES } from '../../src/config/reference/reference-table.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { makeContext, makePool, makeRequest, makeRuntime } from '../makers.ts';
import { AFFINITY_SCORE_TABLES } from './affinity-score-tables.ts';
import { EDGE_SCORE_TABLES } from './edge-score-tables.ts';
import { SCORE_TABLES, type ScoreTable } from './score-tables.ts';

function scoresOf(table: ScoreTable): readonly number[] {
  const { scorer: type, parameters = {}, requests = [], tokens = [], endpoints } = table;
  const definition = scorers.find((each) => each.type === type);
  if (definition === undefined) throw new Error(`no scorer ${type}`);
  const scorer = definition.create(definition.config.parse(parameters), makeRuntime());
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
    totalBlocks: table.totalBlocks ?? 10,
  });
  const pool = makePool(endpoints).map((endpoint, at) => {
    const id = table.ids?.[at];
    return id === undefined ? endpoint : { ...endpoint, id: id as EndpointId };
  });
  const peer = table.peer && makePool([table.peer])[0];
  return scorer.score(pool, peer === undefined ? context : { ...context, peer });
}

describe("the reference's scores", () => {
  it.each(
    [...SCORE_TABLES, ...AFFINITY_SCORE_TABLES, ...EDGE_SCORE_TABLES].map(
      (table) => [table.scorer, table.what, table] as const,
    ),
  )('[D127] %s: %s', (_scorer, _what, table) => {
    const scores = scoresOf(table);
    expect(scores).toHaveLength(table.scores.length);
    scores.forEach((score, at) => {
      expect(Math.abs(score - (table.scores[at] ?? Number.NaN))).toBeLessThan(1e-9);
    });
  });

  it('[D310] there is a table for every scorer whose inputs are not predictions', () => {
    const predicting = ['latency-scorer', 'latency-observation-scorer-hub'];
    const known = new Set([...SCORE_TABLES, ...AFFINITY_SCORE_TABLES].map(({ scorer }) => scorer));
    const scorerTypes = [...REFERENCE_TYPES].flatMap(([type, role]) =>
      role === 'scorer' ? [type] : [],
    );
    const missing = scorerTypes.filter((type) => !known.has(type) && !predicting.includes(type));
    expect(missing).toEqual([]);
  });

  it('[D127] no-hit-lru-scorer: the one that got a cold request longest ago is best', () => {
    const definition = scorers.find(({ type }) => type === 'no-hit-lru-scorer');
    const scorer = definition?.create(definition.config.parse({}), makeRuntime());
    const pool = makePool([{}, {}, {}, {}, {}]);
    const cold = (slot: number, prefill?: number): void =>
      scorer?.onRouted?.({
        endpoint: pool[slot],
        prefill: prefill === undefined ? undefined : pool[prefill],
        cachedTokens: 0,
      } as never);
    const scores = () => scorer?.score(pool, makeContext({ matchedBlocks: [] }));
    cold(2);
    cold(4);
    cold(0, 3);
    // Where several never got one the reference ranks them as they come: either is its first.
    expect(scores()?.[1]).toBe(1);
    expect(scores()).toEqual([0.25, 1, 0.75, 0, 0.5]);
    cold(1);
    expect(scores()).toEqual([0.5, 0, 1, 0.25, 0.75]);
  });
});
