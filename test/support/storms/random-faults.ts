import { RoutingError } from '../../../src/framework/error.ts';
import type { Random } from '../../../src/framework/runtime.ts';
import type { JournalSubscriber } from '../../../src/picker/events/journal.ts';
import { drawnBelow } from '../drawn.ts';
import { type FaultyPlugins, TEST_FACT } from '../plugins/faulty-plugins.ts';

const BAD_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 1e300];

/** What fails by chance: plugins of every kind and subscribers, which throw or give garbage. */
export class RandomFaults {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  below(bound: number): number {
    return drawnBelow(this.#random, bound);
  }

  badNumber(): number {
    return BAD_NUMBERS[this.below(BAD_NUMBERS.length)] ?? Number.NaN;
  }

  /** Throws, seldom. */
  readonly mayThrow = (): void => {
    if (this.chance(0.02)) throw new Error('broken on purpose');
    if (this.chance(0.001)) throw new RoutingError('saturated', 'refused on purpose');
  };

  observer(): JournalSubscriber & { responseHeaders(): Iterable<[string, string]> } {
    const may = this.mayThrow;
    return {
      onDecision: may,
      onRouted: may,
      onServed: may,
      onBodyRead: may,
      onFirstToken: may,
      onAnswered: may,
      onEnded: may,
      onDone: may,
      onTimer: may,
      onAdopted: may,
      onPrepared: may,
      onEndpointAdded: may,
      onEndpointRemoved: may,
      onEndpointChanged: may,
      responseHeaders: () => {
        may();
        return [['x', 'y']];
      },
    };
  }

  plugins(): FaultyPlugins {
    const may = this.mayThrow;
    const observes = this.observer();
    const garbage = <T>(sound: T): T => {
      may();
      return this.chance(0.01) ? (undefined as T) : sound;
    };
    return {
      filter: {
        ...observes,
        filter: (endpoints) =>
          garbage(this.chance(0.02) ? [] : endpoints.filter(() => this.chance(0.8))),
      },
      scorer: {
        ...observes,
        score: (endpoints, context) => {
          const fact = context.get(TEST_FACT);
          return garbage(endpoints.map(() => (this.chance(0.002) ? this.badNumber() : fact / 2)));
        },
      },
      picker: {
        ...observes,
        pick: (candidates) => garbage(this.chance(0.01) ? [] : candidates.slice(0, 2)),
      },
      decider: { ...observes, separates: () => garbage(this.chance(0.5)) },
      source: ({ clock }) => {
        if (this.chance(0.2)) throw new Error('it does not start');
        clock.setTimer(10, () => {
          throw new Error('broken on purpose');
        });
        return {
          ...observes,
          facts: [{ key: TEST_FACT, compute: () => garbage(this.#random.next()) }],
          prepare: (_request, _body, ready) => {
            for (let call = this.below(3); call > 0 && this.chance(0.3); call--) ready();
            may();
            for (let call = this.below(3); call > 0; call--) clock.setTimer(this.below(30), ready);
            return this.chance(0.5);
          },
          stop: () => {
            if (this.chance(0.5)) throw new Error('broken on purpose');
          },
        };
      },
    };
  }
}
