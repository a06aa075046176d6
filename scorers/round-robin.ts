import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Prefers the endpoint that was sent to least recently: a baseline to compare against. */
export const roundRobin: ScorerDefinition = defineScorer({
  type: 'round-robin-scorer',
  config: z.strictObject({}),
  create() {
    const lastTurn: (number | undefined)[] = [];
    let turn = 0;
    return {
      score(endpoints) {
        const turns = endpoints.map(({ slot }) => lastTurn[slot] ?? 0);
        const first = Math.min(...turns);
        return turns.map((each) => (each === first ? 1 : 0));
      },
      onRouted({ endpoint }) {
        lastTurn[endpoint.slot] = ++turn;
      },
      onEndpointRemoved({ slot }) {
        lastTurn[slot] = undefined;
      },
    };
  },
});
