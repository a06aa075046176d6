import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { makeRequest } from '../../../../test/makers.ts';
import { registerWaitingMetrics } from './waiting-metrics.ts';

it('[O218] counts what waits for its endpoint and for flow control', async () => {
  const registry = new Registry();
  const waiting = { request: makeRequest(), since: 0, bytes: 700, candidates: 1 };
  const picker = { waiting: { requests: 2, bytes: 50 } };
  const router = { waiting: 2, waitingRequests: [waiting, waiting] };
  registerWaitingMetrics(registry, picker, router);
  const page = await registry.metrics();
  expect(page).toContain('\npointsman_waiting_requests 4\n');
  expect(page).toContain('\npointsman_waiting_bytes 1450\n');
});
