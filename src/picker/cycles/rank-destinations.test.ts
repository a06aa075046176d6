import { expect, it } from 'vitest';
import { createPicker, type EmbeddedPicker } from '../../index.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';

const RANK_HEADER = 'x-data-parallel-rank';
const SEED = 1;

const POLICY = (endpoints: number): string => `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: queue-scorer
  - type: max-score-picker
    parameters: { maxNumOfEndpoints: ${endpoints} }
schedulingProfiles:
  - name: default
    plugins:
      - { pluginRef: queue-scorer, weight: 1 }
      - { pluginRef: max-score-picker }
`;

/** `a` has the ranks 0 to 2, `b` 0 and 1; `c` is one endpoint. The queues are in this order. */
function pickerOf(
  order: readonly string[],
  targets = 5,
  clock = new SimulatedClock(),
): EmbeddedPicker {
  const picker = createPicker({ config: POLICY(targets), seed: SEED, clock });
  for (const id of ['a0', 'a1', 'a2', 'b0', 'b1', 'c']) {
    const [server = '', rank] = id;
    const labels = rank === undefined ? {} : { 'pointsman.dev/data-parallel-rank': rank };
    picker.addEndpoint({ id, address: `${server}:80`, labels });
    const place = order.indexOf(id);
    const waitingQueueSize = place < 0 ? 100 : place;
    picker.setMetrics(id, { waitingQueueSize, runningRequests: 0, kvCacheUsage: 0 });
  }
  return picker;
}

const request = { model: 'm', promptTokens: 100, blockIds: [] };

it('[Q324] sends a request to the address of its rank, with the header that names it', () => {
  const routed = pickerOf(['a2'], 1).route(request);
  expect([routed.endpoint.id, routed.destinations]).toEqual(['a2', ['a:80']]);
  expect(routed.headers.get(RANK_HEADER)).toBe('2');
});

it('[Q324] names no rank to a server that is one endpoint', () => {
  const routed = pickerOf(['c', 'a0'], 2).route(request);
  expect(routed.destinations).toEqual(['c:80', 'a:80']);
  expect(routed.headers.has(RANK_HEADER)).toBe(false);
});

it('[Q325] names each address once, and only servers that have the rank of the first', () => {
  const first = (order: readonly string[]): readonly string[] =>
    pickerOf(order).route(request).destinations;
  expect(first(['a1', 'a0', 'b0', 'c', 'a2'])).toEqual(['a:80', 'b:80']);
  // `b` has no rank 2, and `c` may refuse the header.
  expect(first(['a2', 'a0', 'b0', 'c', 'b1'])).toEqual(['a:80']);
});

it('[Q325] takes the same rank of the server that answered for the one that has the request', () => {
  const clock = new SimulatedClock();
  const picker = pickerOf(['a1', 'b0', 'c'], 5, clock);
  const routed = picker.route(request);
  clock.advanceTo(1000);
  routed.served('b:80');
  routed.loadReported?.({ waitingQueueSize: 0, runningRequests: 9, kvCacheUsage: 0 });
  const reporting = picker.endpoints().filter(({ metrics }) => metrics.runningRequests === 9);
  expect(reporting.map(({ id }) => id)).toEqual(['b1']);
});
