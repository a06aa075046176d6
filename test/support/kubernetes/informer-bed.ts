import { Informer } from '../../../src/endpoints/discovery/kubernetes/watch/informer.ts';
import type { KubeObject } from '../../../src/endpoints/discovery/kubernetes/watch/kube-objects.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { FakeResource } from './fake-resource.ts';

export interface Thing extends KubeObject {
  readonly value: number;
}

interface InformerBed {
  readonly clock: SimulatedClock;
  readonly server: FakeResource<Thing>;
  readonly seen: { objects: ReadonlyMap<string, Thing>; readonly troubles: string[] };
  start(): Informer<Thing>;
}

/**
 * An informer of things at a server that fails as it is asked to, and what the informer has said.
 */
export function informerBed(): InformerBed {
  const clock = new SimulatedClock();
  const server = new FakeResource<Thing>(clock);
  const seen: { objects: ReadonlyMap<string, Thing>; troubles: string[] } = {
    objects: new Map(),
    troubles: [],
  };
  const start = (): Informer<Thing> =>
    new Informer({
      source: server,
      clock,
      random: seededRandom(1),
      observer: {
        onChange: (objects) => {
          seen.objects = new Map(objects);
        },
        onTrouble: (sentence) => void seen.troubles.push(sentence),
      },
    });
  return { clock, server, seen, start };
}

/** The value of each thing by its name. */
export const valuesOf = (objects: ReadonlyMap<string, Thing>): object =>
  Object.fromEntries(
    [...objects.values()]
      .map(({ metadata = {}, value }): [string, number] => [metadata.name ?? '', value])
      .sort(([a], [b]) => a.localeCompare(b)),
  );
