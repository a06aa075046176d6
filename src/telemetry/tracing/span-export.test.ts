import { describe, expect, test } from 'vitest';
import { UnsteadyClock } from '../../../test/support/unsteady-clock.ts';
import type { Clock } from '../../framework/runtime.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import type { Phase } from './phases-of.ts';
import { SpanExport } from './span-export.ts';

const TRACE = { traceId: 'a', spanId: 'b' } as RequestTrace;
const DELAY_MS = 5000;
const TIMEOUT_MS = 30_000;

/** A collector whose answers the test gives. A batch has one byte for each span. */
function setUp<Time extends Clock = SimulatedClock>({
  queue = 100,
  batch = 4,
  time = new SimulatedClock() as Clock as Time,
} = {}) {
  const clock: Time = time;
  const sent: { readonly spans: number; readonly take: () => void; refuse(why: Error): void }[] =
    [];
  const lines: string[] = [];
  const line = (_fields: object, message: string): void => void lines.push(message);
  const log = { debug: line, info: line, warn: line, error: line };
  let written = 0;
  const writer = {
    get spans() {
      return written;
    },
    add: (phases: readonly Phase[]) => {
      written += phases.length;
    },
    take: () => {
      const bytes = Buffer.alloc(written);
      written = 0;
      return bytes;
    },
  };
  const limits = {
    maxQueueSize: queue,
    maxExportBatchSize: batch,
    scheduledDelayMillis: DELAY_MS,
    exportTimeoutMillis: TIMEOUT_MS,
  };
  const send = (bytes: Uint8Array): Promise<void> =>
    new Promise((take, refuse) => void sent.push({ spans: bytes.length, take, refuse }));
  const spans = new SpanExport({ writer, send, batch: limits, clock, log });
  const add = (count: number): void =>
    spans.add(
      Array.from({ length: count }, () => ({}) as Phase),
      TRACE,
      0,
    );
  return { spans, add, sent, lines, clock };
}

function stoodStill(): UnsteadyClock {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  return clock;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the export of spans', () => {
  test('[O85] has a limit: spans beyond it are dropped with their whole request, and counted', async () => {
    const { spans, add, sent, clock } = setUp({ queue: 5, batch: 5 });
    add(3);
    add(3);
    add(2);
    expect(spans.counts).toEqual({ exported: 0, failed: 0, dropped: 3 });
    clock.advanceTo(1);
    sent[0]?.take();
    await settled();
    add(3);
    expect(spans.counts).toEqual({ exported: 5, failed: 0, dropped: 3 });
  });

  test('[O85] without a collector it logs one line, and one when it is back', async () => {
    const { spans, add, sent, lines, clock } = setUp({ batch: 1 });
    for (let request = 0; request < 4; request++) {
      add(1);
      clock.advanceTo(clock.now());
      sent.pop()?.refuse(new Error('connect ECONNREFUSED'));
      await settled();
    }
    expect(lines).toEqual(['traces cannot be sent: spans are counted and thrown away']);
    expect(spans.counts.failed).toBe(4);
    add(1);
    clock.advanceTo(clock.now());
    sent.pop()?.take();
    await settled();
    expect(lines.slice(1)).toEqual(['traces are sent again']);
  });

  test('[O170] a full batch is sent in a later turn than its last request, one after the other', async () => {
    const { add, sent, clock } = setUp({ batch: 4 });
    add(3);
    add(3);
    add(4);
    expect(sent).toEqual([]);
    clock.advanceTo(1);
    expect(sent.map(({ spans }) => spans)).toEqual([6]);
    sent[0]?.take();
    await settled();
    expect(sent.map(({ spans }) => spans)).toEqual([6, 4]);
  });

  test('[O170] a batch that does not fill is sent after its delay', () => {
    const { add, sent, clock } = setUp();
    add(2);
    clock.advanceTo(DELAY_MS - 1);
    expect(sent).toEqual([]);
    clock.advanceTo(DELAY_MS + 1);
    expect(sent.map(({ spans }) => spans)).toEqual([2]);
  });

  test('[O170] a batch without an answer counts as failed after its time-out, and the next one goes', async () => {
    const { spans, add, sent, clock } = setUp({ batch: 1 });
    add(1);
    add(2);
    clock.advanceTo(TIMEOUT_MS + 1);
    expect(spans.counts.failed).toBe(1);
    expect(sent.map((batch) => batch.spans)).toEqual([1, 2]);
    sent[0]?.take();
    sent[1]?.take();
    await settled();
    expect(spans.counts).toEqual({ exported: 2, failed: 1, dropped: 0 });
  });

  test('[V554] a batch counts as sent whose answer came while the process stood still', async () => {
    const { spans, add, sent, lines, clock } = setUp({ batch: 1, time: stoodStill() });
    add(1);
    clock.advanceBy(1);
    clock.pass(TIMEOUT_MS * 10);
    clock.advanceBy(0);
    sent[0]?.take();
    await settled();
    clock.advanceBy(TIMEOUT_MS * 2);
    expect([spans.counts, lines]).toEqual([{ exported: 1, failed: 0, dropped: 0 }, []]);
  });

  test('[O85] ends with the last spans sent, also where the collector refuses them', async () => {
    const { spans, add, sent } = setUp();
    add(2);
    const stopped = spans.stop();
    expect(sent.map((batch) => batch.spans)).toEqual([2]);
    sent[0]?.refuse(new Error('no collector'));
    await expect(stopped).resolves.toBeUndefined();
    expect(spans.counts.failed).toBe(2);
  });

  test('[V153] ends after 3 s where the collector takes the connection and says nothing', async () => {
    const { spans, add, clock } = setUp();
    add(2);
    const stopped = spans.stop();
    clock.advanceTo(3000);
    await expect(stopped).resolves.toBeUndefined();
  });
});
