import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';

const START_US = 1_759_813_207_000_000;
const CALL = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'm',
  'gen_ai.usage.input_tokens': 12,
  'gen_ai.usage.output_tokens': 7,
};
const valueOf = (value: string | number): object =>
  typeof value === 'string' ? { stringValue: value } : { intValue: String(value) };

const exported = (...calls: readonly object[]): object => ({
  resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: calls.map(otlpSpan) }] }],
});
const otlpSpan = (attributes: object, at: number): object => ({
  spanId: `s${at}`,
  startTimeUnixNano: `${START_US + 500_000 * at}000`,
  endTimeUnixNano: `${START_US + 500_000 * at + 250_000}000`,
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) })),
  status: {},
});

const jaeger = (...calls: readonly object[]): object => ({
  data: calls.map((attributes, at) => ({
    traceID: `t${at}`,
    spans: [
      {
        traceID: `t${at}`,
        spanID: `s${at}`,
        operationName: 'chat m',
        references: [{ refType: 'CHILD_OF', traceID: `t${at}`, spanID: 'p' }],
        startTime: START_US + 500_000 * at,
        duration: 250_000,
        tags: Object.entries(attributes).map(([key, value]) => ({ key, type: 'x', value })),
        logs: [{ timestamp: 1, fields: [{ key: 'event', type: 'string', value: 'e' }] }],
        processID: 'p1',
        warnings: null,
      },
    ],
    processes: { p1: { serviceName: 'client', tags: [{ key: 'ip', value: 'x' }] } },
  })),
  total: 0,
  errors: null,
});

const AGENT = { ...CALL, 'gen_ai.operation.name': 'invoke_agent' };
const FAILED = { ...CALL, error: true };

describe('OpenTelemetry’s spans out of a store of traces', () => {
  const spans = exported(CALL, AGENT, CALL);
  it.each([
    ['Tempo', { batches: (spans as { resourceSpans: unknown }).resourceSpans }],
    ['Tempo’s second API', { trace: spans }],
    ['Jaeger’s third API', { result: spans }],
    ['Jaeger’s page', jaeger(CALL, AGENT, CALL)],
  ])('[G299] are read as %s gives them, on one line or many', (_, answer) => {
    for (const spaces of [undefined, 2]) {
      const { requests, notes } = readBytes(JSON.stringify(answer, undefined, spaces), {
        lenient: false,
      });
      expect(requests.map(({ atMs, promptTokens, seen }) => [atMs, promptTokens, seen])).toEqual([
        [0, 12, { outcome: 'completed', e2eMs: 250 }],
        [1000, 12, { outcome: 'completed', e2eMs: 250 }],
      ]);
      expect(notes).toEqual(['left out: 1 record, which contains no request of known size']);
    }
  });

  it('[G299] have failed in Jaeger where the tag error says so', () => {
    const { requests } = readBytes(JSON.stringify(jaeger(CALL, FAILED)), { lenient: false });
    expect(requests.map(({ seen }) => seen?.outcome)).toEqual(['completed', 'failed']);
  });
});
