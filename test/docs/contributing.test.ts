import { describe, expect, it } from 'vitest';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf } from '../../src/catalogue/built-in-catalogue.ts';
import { dataSources } from '../../src/catalogue/data-sources.ts';
import type { ScorerDefinition } from '../../src/framework/plugin.ts';
import { createPickerFrom } from '../../src/library/create-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { makeContext, makePool, makeRuntime } from '../makers.ts';
import { codeBlock, runDocumented } from './doc-code.ts';

const code = codeBlock('CONTRIBUTING.md', 'ts', 'defineScorer');
const { zone } = (await runDocumented(code, 'scorers')) as { readonly zone: ScorerDefinition };

describe('the scorer of CONTRIBUTING.md', () => {
  it('is as short as it says', () => {
    expect(code.trimEnd().split('\n')).toHaveLength(13);
  });

  it('keeps the scorer contract', () => {
    const scorer = zone.create(zone.config.parse({ zone: 'b' }), makeRuntime());
    const pool = makePool([{ labels: { zone: 'a' } }, { labels: { zone: 'b' } }, {}]);
    expect(scorer.score(pool, makeContext())).toEqual([0, 1, 0]);
    expect(scorer.score(pool.toReversed(), makeContext())).toEqual([0, 1, 0]);
    expect(scorer.score(pool, makeContext())).toEqual([0, 1, 0]);
    expect(scorer.score([], makeContext())).toEqual([]);
    expect(() => zone.config.parse({ zona: 'b' })).toThrow();
  });

  it('decides with the configuration beside it', () => {
    const picker = createPickerFrom(catalogueOf([...scorers, zone], dataSources), {
      config: codeBlock('CONTRIBUTING.md', 'yaml', 'zone-scorer'),
      seed: 1,
      clock: new SimulatedClock(),
    });
    for (const name of ['a', 'b', 'c']) {
      picker.addEndpoint({ id: `${name}:8000`, labels: { zone: name } });
    }
    const pick = picker.route({ model: 'm', promptTokens: 100 });
    expect(pick.destinations).toEqual(['b:8000']);
    pick.done('completed');
    picker.stop();
  });
});
