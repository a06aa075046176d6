import type { Random } from '../../../src/framework/runtime.ts';
import type { Timings } from '../../engine/timings.ts';
import { FAILURE_TYPES, FAILURES } from '../../faults/failure-types.ts';
import type { FakeMetrics } from '../../metrics/fake-metrics.ts';
import type { ChatImages, FailureInjection } from '../../options/served-options.ts';
import type { StubOptions } from '../../options/stub-options.ts';
import { ApiError } from './api-error.ts';

/** The settings of a server that `/admin/config` can change while it runs. */
export class LiveSettings {
  /** Undefined for a server whose engine takes its times from steps. */
  timings: Timings | undefined;
  failures: FailureInjection;
  /** Undefined for a server that shows true metrics. */
  fakeMetrics: FakeMetrics | undefined;
  /** Undefined for a server that answers chats with text alone. */
  images: ChatImages | undefined;

  constructor({ timings, failures, fakeMetrics, images }: StubOptions) {
    this.timings = timings;
    this.failures = failures;
    this.fakeMetrics = fakeMetrics;
    this.images = images;
  }

  /** Draws whether a request fails. Draws nothing where none is to fail. */
  drawnFailure(random: Random): ApiError | undefined {
    const { rate, types } = this.failures;
    if (rate === 0 || 100 * random.next() >= rate) return undefined;
    const among = types.length === 0 ? FAILURE_TYPES : types;
    const type = among[Math.floor(random.next() * among.length)] ?? 'server_error';
    const { status, message } = FAILURES[type];
    return new ApiError(status, message);
  }
}
