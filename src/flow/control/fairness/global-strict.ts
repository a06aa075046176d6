import { IndexedHeap } from '../../indexed-heap.ts';
import type { Fairness } from './fairness.ts';
import type { Flow, Item } from './flow.ts';

/** No fairness: the request that is first by the order of the band, of whatever flow. */
export function globalStrict(): Fairness {
  return {
    forBand(before) {
      const flows = new IndexedHeap<Flow>((a, b) => before(a.first as Item, b.first as Item));
      return {
        changed(flow) {
          // A flow without a request must leave before first requests are compared.
          if (flow.first === undefined) flows.delete(flow);
          else flows.update(flow);
        },
        next: () => flows.first,
      };
    },
  };
}
