import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mode,
  requestHeaders,
  responseHeaders,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import { BODY_MODE } from '../codec/stream-event.ts';
import { readLoadReport } from './read-load-report.ts';

const NONE = { waitingQueueSize: undefined, runningRequests: undefined, kvCacheUsage: undefined };

describe('readLoadReport', () => {
  it.each([
    [
      'TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=3',
      { ...NONE, waitingQueueSize: 3, kvCacheUsage: 0.4 },
    ],
    [
      'text cpu_utilization=0.3,eps=1,named_metrics.kv_cache_utilization=0.25',
      { ...NONE, kvCacheUsage: 0.25 },
    ],
    [
      'named_metrics.num_requests_waiting=0,named_metrics.num_requests_running=9',
      { ...NONE, waitingQueueSize: 0, runningRequests: 9 },
    ],
    [
      'JSON {"cpu_utilization":0.3,"named_metrics":{"num_requests_waiting":2}}',
      { ...NONE, waitingQueueSize: 2 },
    ],
    ['{"named_metrics":{"kv_cache_usage_perc":1}}', { ...NONE, kvCacheUsage: 1 }],
  ])('[P46] reads %s', (value, report) => {
    expect(readLoadReport(value)).toEqual(report);
  });

  it.each([
    '',
    'TEXT ',
    'BIN CjMKCWN1c3RvbQ==',
    'TEXT cpu_utilization=0.3',
    'JSON {"named_metrics":',
    'JSON null',
    'JSON {"named_metrics":{"num_requests_waiting":"3"}}',
    'TEXT named_metrics.num_requests_waiting=',
    'TEXT named_metrics.num_requests_waiting=-1',
    'TEXT named_metrics.num_requests_waiting=1e9',
    'TEXT named_metrics.kv_cache_usage_perc=Infinity',
    'TEXT named_metrics.kv_cache_usage_perc=NaN',
    `TEXT ${'a=1,'.repeat(2000)}named_metrics.num_requests_waiting=3`,
  ])('[P46] finds no load in %s', (value) => {
    expect(readLoadReport(value)).toBeUndefined();
  });

  it('[P46] gives values that a metric can have, or none, for any text', () => {
    const seed = 20_261_127;
    const text = fc.stringMatching(
      /^(TEXT |JSON |BIN )?[{}":,=.0-9eE+-]{0,20}(named_metrics\.?)?(num_requests_waiting|kv_cache_usage_perc)?[=":]{0,2}[-0-9.eE]{0,8}[},]{0,3}$/,
    );
    fc.assert(
      fc.property(text, (value) => {
        const { waitingQueueSize = 0, kvCacheUsage = 0 } = readLoadReport(value) ?? {};
        expect(waitingQueueSize).toBeGreaterThanOrEqual(0);
        expect(kvCacheUsage).toBeGreaterThanOrEqual(0);
        expect(kvCacheUsage).toBeLessThanOrEqual(1);
      }),
      { seed, numRuns: 300 },
    );
  });
});

describe('a session that asks for load reports', () => {
  const REPORT = 'TEXT named_metrics.num_requests_waiting=3';

  it.each([true, false])(
    '[P46] asks the server and keeps the report from the client: %s',
    (asks) => {
      const bed = setUp({ asksLoadReports: asks });
      bed.send(requestHeaders(mode(BODY_MODE.none)));
      bed.send(responseHeaders(200, true, { 'endpoint-load-metrics': REPORT }));
      expect(bed.actions[0]).toMatchObject({
        pick: { setHeaders: asks ? [['endpoint-load-metrics-format', 'TEXT']] : [] },
      });
      expect(bed.actions[1]).toMatchObject({
        kind: 'answer-response-headers',
        removeHeaders: asks ? ['endpoint-load-metrics'] : undefined,
      });
      expect(bed.loadReports).toEqual(asks ? [{ ...NONE, waitingQueueSize: 3 }] : []);
    },
  );

  it('[P46] does not ask where the answer is not seen', () => {
    const bed = setUp({ asksLoadReports: true, halfCloseAfterPick: true });
    bed.send(requestHeaders({ endOfStream: true } as never));
    expect(bed.actions[0]).toMatchObject({ pick: { setHeaders: [] } });
  });
});
