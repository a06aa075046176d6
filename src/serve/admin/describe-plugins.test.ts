import { expect, it } from 'vitest';
import { makeRequest, makeRuntime } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { describePlugins } from './describe-plugins.ts';

const TEXT = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: approx-prefix-cache-producer
- type: no-hit-lru-scorer
  name: spread
- type: max-score-picker
- type: endpoint-notification-source
`;

function picker(endpoints: number): EndpointPicker {
  const plan = loadConfig({ text: TEXT, source: 'test', catalogue: EMBEDDED_CATALOGUE });
  const made = new EndpointPicker({ plan, runtime: makeRuntime() });
  for (let index = 0; index < endpoints; index++) {
    const id = `default/pod-${index}` as EndpointId;
    made.pool.upsert({ id, address: `10.0.0.${index}:8000`, labels: new Map() });
  }
  return made;
}

it('[D320] shows each plugin by its name, with what it has learned or why nothing is shown', () => {
  const one = picker(2);
  const routed = one.route(makeRequest({ promptTokens: 640 }));
  const { timestamp, plugins } = describePlugins(one);
  expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  const picked = routed.endpoint.id;
  const other = picked === 'default/pod-0' ? 'default/pod-1' : 'default/pod-0';
  expect(plugins).toMatchObject({
    'inflight-load-producer': {
      name: 'inflight-load-producer',
      type: 'inflight-load-producer',
      state: {
        endpoints: [
          { endpoint: picked, requests: 1, tokens: 640 },
          { endpoint: other, requests: 0, tokens: 0 },
        ],
        totalEndpoints: 2,
        maxEndpoints: 100,
        truncated: false,
      },
    },
    spread: { name: 'spread', type: 'no-hit-lru-scorer', state: { endpoints: [picked] } },
    'approx-prefix-cache-producer': { state: { endpoints: [{ blocks: 0 }, { blocks: 0 }] } },
    'max-score-picker': {
      type: 'max-score-picker',
      message: 'plugin does not support state collection',
    },
    'single-profile-handler': { type: 'single-profile-handler' },
    'endpoint-notification-source': {
      state: { stateful: false, stateLocation: { owner: 'the picker' } },
    },
  });
  routed.done('completed', undefined);
  one.stop();
});

it('[D320] shows the first 100 endpoints of a large pool, and says that there are more', () => {
  const large = picker(101);
  const state = describePlugins(large).plugins['inflight-load-producer']?.state;
  expect(state).toMatchObject({ totalEndpoints: 101, maxEndpoints: 100, truncated: true });
  expect((state as { readonly endpoints: readonly unknown[] }).endpoints).toHaveLength(100);
  large.stop();
});
