import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../../test/makers.ts';
import { PickerMetrics } from '../metrics.ts';
import { predictionSubscriber } from './prediction-metrics.ts';

it('[O213] sums predicted and observed times of the same streamed answers, without their waits', async () => {
  const metrics = new PickerMetrics();
  const observer = predictionSubscriber(metrics);
  const streamed = { at: 1000, heldMs: 400, request: makeRequest({ streaming: true }) };
  const whole = makeRequest({ streaming: false });
  for (const parts of [
    { ...streamed, expectedTtftMs: 200 },
    { ...streamed, expectedTtftMs: undefined },
    { ...streamed, expectedTtftMs: 200, request: whole },
  ]) {
    const routed = makeRouted(makeEndpoint('a'), parts);
    observer.onFirstToken?.(routed, 1300);
  }
  const lines = (await metrics.page()).split('\n');
  expect(lines).toContain('pointsman_first_token_predicted_seconds_total 0.2');
  expect(lines).toContain('pointsman_first_token_observed_seconds_total 0.3');
  expect(lines).toContain('pointsman_first_token_predictions_total 1');
});
