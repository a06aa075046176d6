import { z } from 'zod';
import type { Observer } from '../../../src/framework/observer.ts';
import { defineFilter, defineScorer } from '../../../src/framework/plugin.ts';

/**
 * For `--plugin` of a picker in a process of its own: a filter and a scorer that fail by chance.
 */

const config = z.strictObject({});

/** Not seeded: which call fails does not depend on the order in which requests come. */
let calls = 0;
function mayThrow(): void {
  calls += 1;
  if (calls % 23 === 0) throw new Error('broken on purpose');
}

const observer: Observer = {
  onRouted: mayThrow,
  onFirstToken: mayThrow,
  onDone: mayThrow,
  onEndpointAdded: mayThrow,
  onEndpointRemoved: mayThrow,
};

const filter = defineFilter({
  type: 'broken-filter',
  config,
  create: () => ({
    ...observer,
    filter: (endpoints) => {
      mayThrow();
      return calls % 31 === 0 ? [] : endpoints;
    },
  }),
});

const scorer = defineScorer({
  type: 'broken-scorer',
  config,
  create: () => ({
    ...observer,
    score: (endpoints) => {
      mayThrow();
      return endpoints.map(() => (calls % 29 === 0 ? Number.NaN : 0.5));
    },
  }),
});

export const plugins: object = { filters: [filter], scorers: [scorer] };
