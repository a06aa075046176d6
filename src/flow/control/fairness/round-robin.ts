import type { Flow } from '../flows/flow.ts';
import type { Fairness } from './fairness.ts';

/** One request of each flow in turn, in the order of the fairness ids. */
export function roundRobin(): Fairness {
  return {
    forBand() {
      /** Sorted by fairness id. */
      const flows: Flow[] = [];
      let lastPlaced = '';
      let lastOffered = '';
      /** The place of the first flow whose id is not before `id`. */
      const placeOf = (id: string): number => {
        let [low, high] = [0, flows.length];
        while (low < high) {
          const middle = (low + high) >> 1;
          if ((flows[middle] as Flow).id < id) low = middle + 1;
          else high = middle;
        }
        return low;
      };
      return {
        changed(flow) {
          const place = placeOf(flow.id);
          const known = flows[place] === flow;
          if (flow.first === undefined) {
            if (known) flows.splice(place, 1);
          } else if (!known) flows.splice(place, 0, flow);
        },
        begin() {
          lastOffered = lastPlaced;
        },
        next() {
          const place = placeOf(lastOffered);
          const after = flows[place]?.id === lastOffered ? place + 1 : place;
          const flow = flows[after] ?? flows[0];
          if (flow !== undefined) lastOffered = flow.id;
          return flow;
        },
        placed({ flow }) {
          lastPlaced = flow.id;
        },
      };
    },
  };
}
