import { describe, expect, it } from 'vitest';
import type { HttpResponse, Network } from '../../../framework/runtime.ts';
import { countPolls, PickerMetrics } from '../metrics.ts';

describe('failed polls', () => {
  it('counts failed polls by source', async () => {
    const metrics = new PickerMetrics();
    metrics.countPollError('metrics-data-source');
    metrics.countPollError('metrics-data-source');
    expect(await metrics.page()).toContain(
      'llm_d_epp_datalayer_poll_errors_total{source_type="metrics-data-source"} 2\n',
    );
  });
});

const answers = new Map<string, () => Promise<HttpResponse>>([
  ['http://ok/', () => Promise.resolve({ status: 200, body: new Uint8Array() })],
  ['http://error/', () => Promise.resolve({ status: 500, body: new Uint8Array() })],
  ['http://gone/', () => Promise.reject(new Error('connection refused'))],
]);

it('counts polls that fail or are answered by an error, and passes every answer on', async () => {
  const metrics = new PickerMetrics();
  const network: Network = {
    get: ({ href }) => answers.get(href)?.() ?? Promise.reject(new Error(`no ${href}`)),
  };
  const counted = countPolls(network, metrics, 'metrics-data-source');
  const options = { timeoutMs: 1, bodyBytesMax: 1 };
  expect((await counted.get(new URL('http://ok/'), options)).status).toBe(200);
  expect((await counted.get(new URL('http://error/'), options)).status).toBe(500);
  await expect(counted.get(new URL('http://gone/'), options)).rejects.toThrow('connection refused');
  expect(await metrics.page()).toContain('{source_type="metrics-data-source"} 2\n');
});
