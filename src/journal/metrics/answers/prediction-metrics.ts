import type { JournalSubscriber } from '../../../picker/events/journal.ts';
import { Counter } from '../../../runtime/prom-client.ts';
import type { PickerMetrics } from '../metrics.ts';

/**
 * Sums predicted and observed seconds from picks to first tokens over the same requests: streamed
 * answers with a prediction. The wait at the picker is in neither, so that a full pool looks no
 * slower than it is.
 */
export function predictionSubscriber({ registry }: PickerMetrics): JournalSubscriber {
  const sum = (name: string, help: string): Counter =>
    new Counter({ name: `pointsman_first_token_${name}_total`, help, registers: [registry] });
  const predicted = sum('predicted_seconds', 'Predicted times from the pick to the first token.');
  const observed = sum('observed_seconds', 'Observed times from the pick to the first token.');
  const requests = sum('predictions', 'Streamed answers of which both times are known.');
  return {
    onFirstToken({ expectedTtftMs, request, at: pickedAt }, at) {
      if (!request.streaming || expectedTtftMs === undefined) return;
      predicted.inc(expectedTtftMs / 1000);
      observed.inc(Math.max(0, at - pickedAt) / 1000);
      requests.inc();
    },
  };
}
