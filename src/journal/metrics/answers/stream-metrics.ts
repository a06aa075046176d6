import type { Registry } from 'prom-client';
import type { PickerMetrics } from '../metrics.ts';
import {
  REQUEST_PROCESSING_SECONDS,
  RESPONSE_PROCESSING_SECONDS,
  STREAM_SECONDS,
} from '../page/bucket-bounds.ts';
import { counters, eppPage, histograms, showMetric } from '../page/family.ts';

/** What the streams of gateways take at the moment of the scrape. */
interface StreamUsage {
  readonly openStreams: number;
  readonly streamsMax: number;
  readonly heldBytes: number;
  readonly heldBytesMax: number;
  readonly refused: ReadonlyMap<string, number>;
}

/** Shows the streams of gateways, their memory, its bounds, and requests refused for them. */
export function registerStreamMetrics(
  registry: Registry,
  usage: () => StreamUsage,
  asReference = false,
): void {
  const gauge = (name: string, help: string, read: (usage: StreamUsage) => number): void =>
    showMetric(registry, { name: `pointsman_${name}`, help, type: 'gauge' }, () => [
      { labels: {}, value: read(usage()) },
    ]);
  gauge('open_streams', 'Streams of gateways, one for each request.', (each) => each.openStreams);
  gauge('open_streams_max', 'The bound of open streams.', (each) => each.streamsMax);
  gauge('held_bytes', 'Bytes of bodies kept for all streams.', (each) => each.heldBytes);
  gauge('held_bytes_max', 'The bound of kept bytes.', (each) => each.heldBytesMax);
  if (asReference) {
    const name = 'llm_d_epp_extproc_streams_inflight';
    const open = '[ALPHA] Streams of gateways that are open.';
    showMetric(registry, { name, help: open, type: 'gauge' }, () => [
      { labels: {}, value: usage().openStreams },
    ]);
  }
  const help = 'Requests refused to stay within a limit, by reason.';
  showMetric(registry, { name: 'pointsman_refused_requests_total', help, type: 'counter' }, () =>
    [...usage().refused].map(([reason, value]) => ({ labels: { reason }, value })),
  );
}

/** Receives what streams take, in seconds. */
interface StreamTimes {
  requestProcessed(seconds: number): void;
  responseProcessed(seconds: number): void;
  closed(seconds: number, reason: 'ended' | 'cancelled' | 'failed'): void;
}

/** The gRPC status of a stream that ended so. */
const CODES = { ended: 'OK', cancelled: 'Canceled', failed: 'Unknown' } as const;

/** Shows what the picker takes for requests and responses, and with `streams` whole streams. */
export function streamTimes({ registry }: PickerMetrics, streams = false): StreamTimes {
  const page = eppPage(registry);
  const seconds = (name: string, bounds: readonly number[], help: string) =>
    page(histograms(bounds), name, help, []).child({});
  const requests = seconds(
    'request_processing_duration_seconds',
    REQUEST_PROCESSING_SECONDS,
    'Time from the beginning of a request to its pick or refusal, with the upload of its body.',
  );
  const responses = seconds(
    'response_processing_duration_seconds',
    RESPONSE_PROCESSING_SECONDS,
    'Time that the picker took for all messages of a response, without waiting for them.',
  );
  const closed = streams ? closedStreams(registry) : undefined;
  return {
    requestProcessed: (each) => requests.observe(each),
    responseProcessed: (each) => responses.observe(each),
    closed: closed ?? (() => undefined),
  };
}

function closedStreams(registry: Registry): StreamTimes['closed'] {
  const page = eppPage(registry);
  const life = 'Time from the beginning of a stream of a gateway to its end.';
  const bounds = histograms(STREAM_SECONDS);
  const whole = page(bounds, 'extproc_stream_duration_seconds', life, []).child({});
  const status = 'Streams that have ended, by their status.';
  const ended = page(counters(), 'extproc_streams_total', status, ['code']);
  const byReason = {
    ended: ended.child({ code: CODES.ended }),
    cancelled: ended.child({ code: CODES.cancelled }),
    failed: ended.child({ code: CODES.failed }),
  };
  return (seconds, reason) => {
    whole.observe(seconds);
    byReason[reason].value += 1;
  };
}
