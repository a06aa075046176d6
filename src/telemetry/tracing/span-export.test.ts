import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { describe, expect, test } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { SpanExport } from './span-export.ts';

type Done = Parameters<SpanExporter['export']>[1];

/** An exporter whose answers the test gives, behind a processor that batches nothing. */
function setUp(
  spansMax: number,
  shutdown: SpanExporter['shutdown'] = () => Promise.reject(new Error('no collector')),
) {
  const clock = new SimulatedClock();
  const sent: { readonly spans: ReadableSpan[]; readonly done: Done }[] = [];
  const lines: string[] = [];
  const line = (_fields: object, message: string): void => void lines.push(message);
  const exporter: SpanExporter = {
    export: (spans, done) => void sent.push({ spans, done }),
    shutdown,
  };
  const batched = (to: SpanExporter): SpanProcessor => ({
    onStart: () => undefined,
    onEnd: (span) => to.export([span], () => undefined),
    shutdown: () => to.shutdown(),
    forceFlush: () => Promise.resolve(),
  });
  const log = { debug: line, info: line, warn: line, error: line };
  const spans = new SpanExport({ exporter, batched, spansMax, clock, log });
  return { spans, sent, lines, clock };
}

const span = {} as ReadableSpan;

describe('the export of spans', () => {
  test('[O85] has a limit: spans beyond it are dropped with their whole request, and counted', () => {
    const { spans, sent } = setUp(5);
    spans.add([span, span, span]);
    spans.add([span, span, span]);
    spans.add([span, span]);
    expect(sent).toHaveLength(5);
    expect(spans.counts).toEqual({ exported: 0, failed: 0, dropped: 3 });
    for (const { done } of sent.splice(0)) done({ code: 0 });
    spans.add([span, span, span]);
    expect(sent).toHaveLength(3);
    expect(spans.counts).toEqual({ exported: 5, failed: 0, dropped: 3 });
  });

  test('[O85] without a collector it logs one line, and one when it is back', () => {
    const { spans, sent, lines } = setUp(10);
    for (let request = 0; request < 4; request++) {
      spans.add([span]);
      sent.pop()?.done({ code: 1, error: new Error('connect ECONNREFUSED') });
    }
    expect(lines).toEqual(['traces cannot be sent: spans are counted and thrown away']);
    expect(spans.counts.failed).toBe(4);
    spans.add([span]);
    sent.pop()?.done({ code: 0 });
    expect(lines.slice(1)).toEqual(['traces are sent again']);
  });

  test('[O85] ends although no collector answers', async () => {
    await expect(setUp(10).spans.stop()).resolves.toBeUndefined();
  });

  test('[V153] ends after 3 s where the collector takes the connection and says nothing', async () => {
    const { spans, clock } = setUp(10, () => new Promise(() => undefined));
    const stopped = spans.stop();
    clock.advanceTo(3000);
    await expect(stopped).resolves.toBeUndefined();
  });
});
