import { expect, it } from 'vitest';
import { makeEndpoint } from '../../../test/makers.ts';
import { eventAddress } from './event-address.ts';
import { precisePrefixConfig } from './precise-config.ts';

const CONFIG = precisePrefixConfig.parse({
  kvEventsConfig: { podDiscoveryConfig: { socketPort: 5557, replaySocketPort: 6557 } },
});

/** Where the events of the third of a server's ranks come from. */
function ofRank2(labels: Readonly<Record<string, string>> = {}): object {
  const all = { 'pointsman.dev/data-parallel-rank': '2', ...labels };
  const endpoint = makeEndpoint('pod-rank-2', { labels: all });
  return eventAddress({ ...endpoint, address: '10.0.0.1:8000', labels: endpoint.labels }, CONFIG);
}

it('[Q326] takes the events of each rank behind one address from the port of that rank', () => {
  expect(ofRank2()).toEqual({ events: 'tcp://10.0.0.1:5559', replay: 'tcp://10.0.0.1:6559' });
});

it('[Q326] takes a port or an address in a label of the server for that of its first rank', () => {
  const labels = {
    'pointsman.dev/kv-events': '7000',
    'pointsman.dev/kv-events-replay': 'tcp://10.0.0.9:7100',
  };
  expect(ofRank2(labels)).toEqual({ events: 'tcp://10.0.0.1:7002', replay: 'tcp://10.0.0.9:7102' });
});
