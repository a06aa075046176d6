import { describe, expect, it } from 'vitest';
import { makeTrace, readBytes } from '../../../test/make-trace.ts';
import { NaivePrefixNumbers } from '../../../test/support/naive-prefix-numbers.ts';
import { packageFile } from '../../files/folders.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { findFormat, TRACE_FORMATS } from './reading/find-format.ts';
import { readTrace } from './reading/read-trace.ts';
import type { Trace, TraceRequest } from './trace.ts';
import type { TraceFormat } from './trace-format.ts';

const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);
const WRITTEN = TRACE_FORMATS.filter(({ write }) => write !== undefined);

const textOf = (format: TraceFormat, trace: Trace): string =>
  [...(format.write?.(trace) ?? [])].join('');
const read = (text: string | Buffer, from?: string): Trace =>
  readBytes(text, { lenient: false, from });

/** What a format carries of a trace; blocks as numbers in the order in which they come. */
function carriedBy(
  { carries, name }: TraceFormat,
  { requests, blockTokens }: Trace,
): readonly object[] {
  const numbers = new NaivePrefixNumbers();
  return requests.map((request) => {
    const has = (each: (typeof carries)[number]): boolean => carries.includes(each);
    const { model, session, thinkMs, seen, promptTokens, outputTokens } = request;
    const { priority, fairnessId } = request;
    return {
      atMs: Math.round(1000 * request.atMs),
      promptTokens,
      outputTokens,
      ...(has('model') && { model }),
      ...(has('session') && { session }),
      ...(has('thinkMs') && { thinkMs }),
      ...(has('priority') && { priority }),
      ...(has('fairnessId') && { fairnessId }),
      ...(has('seen') && { seen: seen === undefined ? undefined : endOf(seen, name) }),
      ...(has('blockIds') && {
        blockTokens,
        blocks: numbers.of(request),
      }),
    };
  });
}

/** To the microsecond, since some count in seconds and some in nanoseconds. */
function endOf(
  { outcome, ttftMs, e2eMs }: NonNullable<TraceRequest['seen']>,
  name: string,
): object {
  const rounded = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : Math.round(1000 * ms);
  // inference-perf knows no client that leaves.
  const told = name === 'inference-perf' && outcome === 'aborted' ? 'failed' : outcome;
  return { outcome: told, ttftMs: rounded(ttftMs), e2eMs: rounded(e2eMs) };
}

/**
 * AIPerf and inference-perf write an end and a session for each request, so each must have them.
 */
function plainer(trace: Trace, { name }: TraceFormat): Trace {
  if (name !== 'aiperf' && name !== 'inference-perf') return trace;
  const requests = trace.requests.map((request) => ({
    ...request,
    session: request.session ?? 'alone',
    seen: request.seen ?? ({ outcome: 'completed', ttftMs: 5, e2eMs: 7 } as const),
  }));
  return { ...trace, requests };
}

describe('a trace written and read again', () => {
  it.each(WRITTEN)('is the same in all that $name carries', (format) => {
    for (const seed of SEEDS) {
      const random = seededRandom(seed);
      const drawn = makeTrace(random, { blockTokens: format.name === 'mooncake' ? 512 : 64 });
      const trace = plainer(drawn, format);
      const text = textOf(format, trace);
      expect(findFormat(text.split('\n', 1)[0] ?? ''), `seed ${seed}`).toBe(format);
      const again = read(text);
      expect(carriedBy(format, again), `seed ${seed}`).toEqual(carriedBy(format, trace));
    }
  });

  it('keeps in Mooncake’s larger blocks what prompts share of whole ones, and nothing else', () => {
    const mooncake = TRACE_FORMATS.find(({ name }) => name === 'mooncake') as TraceFormat;
    for (const seed of SEEDS) {
      const trace = makeTrace(seededRandom(seed));
      const { requests, blockTokens } = read(textOf(mooncake, trace));
      expect(blockTokens).toBe(512);
      const small = new NaivePrefixNumbers();
      const numbers = trace.requests.map((request) => small.of(request));
      for (const [one, { blockIds }] of requests.entries()) {
        for (const [other, { blockIds: others }] of requests.entries()) {
          if (other === one) continue;
          const shared = commonLength(blockIds, others);
          const was = Math.floor(commonLength(numbers[one] ?? [], numbers[other] ?? []) / 8);
          expect(shared, `seed ${seed}, requests ${one} and ${other}`).toBe(was);
        }
      }
    }
  });

  it('is refused where the format would have to say something else', () => {
    const odd = makeTrace(seededRandom(1), { blockTokens: 48 });
    const [mooncake, burst] = ['mooncake', 'burstgpt'].map((name) =>
      TRACE_FORMATS.find((each) => each.name === name),
    );
    expect(() => textOf(mooncake as TraceFormat, odd)).toThrow(/48 tokens do not divide the 512/);
    const requests = odd.requests.map((each) => ({ ...each, model: 'a,b' }));
    expect(() => textOf(burst as TraceFormat, { ...odd, requests })).toThrow(
      /"a,b" would need quotes/,
    );
  });
});

function commonLength(a: readonly unknown[], b: readonly unknown[]): number {
  const end = a.findIndex((each, place) => each !== b[place]);
  return end === -1 ? a.length : end;
}

const AIPERF_LINE =
  '{"metadata":{"session_num":45,"x_correlation_id":"c1","conversation_id":"d1","turn_index":0,"request_start_ns":1759813207532900363,"request_end_ns":1759813207838764604,"benchmark_phase":"profiling","was_cancelled":false},"metrics":{"input_sequence_length":{"value":550,"unit":"tokens"},"time_to_first_token":{"value":255.5,"unit":"ms"},"request_latency":{"value":297.5,"unit":"ms"},"inter_chunk_latency":{"value":[4.8,5.3],"unit":"ms"},"output_sequence_length":{"value":9,"unit":"tokens"}},"error":null}';
const AIPERF_FAILED =
  '{"metadata":{"x_correlation_id":"c2","request_start_ns":1759813207500000000,"benchmark_phase":"profiling","was_cancelled":true},"metrics":{"error_isl":{"value":40,"unit":"tokens"}},"error":{"code":499,"type":"RequestCancellationError","message":"after 0 s"}}';
const AIPERF_WARMUP = AIPERF_LINE.replace('"profiling"', '"warmup"');

const span = (
  attributes: object,
  start = 1_759_813_207_000_000_000n,
  more: object = {},
): object => ({
  startTimeUnixNano: String(start),
  endTimeUnixNano: String(start + 2_000_000_000n),
  attributes: Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  })),
  ...more,
});
const batch = (...spans: readonly object[]): object => ({
  resourceSpans: [{ scopeSpans: [{ spans }] }],
});
const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'm',
  'gen_ai.usage.input_tokens': 12,
  'gen_ai.usage.output_tokens': 3,
  'gen_ai.conversation.id': 'talk',
};

describe('what other tools write', () => {
  it('AIPerf: requests in the order they were sent, without the warm-up, the lengths it did not see from the others', () => {
    const { requests, notes } = read([AIPERF_LINE, AIPERF_WARMUP, AIPERF_FAILED].join('\n'));
    expect(requests.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
      [40, 9],
      [550, 9],
    ]);
    expect(requests[0]?.seen).toEqual({ outcome: 'aborted' });
    expect(requests[1]).toMatchObject({ session: 'c1', seen: { ttftMs: 255.5, e2eMs: 297.5 } });
    expect(requests[1]?.atMs).toBeCloseTo(32.9, 2);
    expect(notes.join()).toMatch(
      /left out: 1 record,.*1 answer of unknown length: taken as 9 tokens/,
    );
  });

  it('[O110] pointsman: of version 1 only', () => {
    const first = { pointsman: 'trace', version: 2, blockTokens: 64 };
    expect(() => read(`${JSON.stringify(first)}\n`)).toThrow(/version/);
  });

  it('inference-perf: of any version, one line or many', () => {
    const older = {
      start_time: 100.5,
      end_time: 102,
      request: '{"model": "m", "prompt": "[{\\"}"}',
      info: { input_tokens: 9, output_tokens: 4, output_token_times: [101, 102] },
      error: null,
    };
    const newer = {
      start_time: 100,
      end_time: 103,
      request: '{}',
      info: {
        request_metrics: { text: { input_tokens: 7 } },
        input_tokens: 7,
        lora_adapter: 'l',
        response_metrics: { output_tokens: 0 },
      },
      error: { error_type: 'x', error_msg: 'y' },
    };
    for (const indent of [undefined, 2]) {
      const { requests } = read(JSON.stringify([older, newer], undefined, indent));
      expect(requests).toEqual([
        {
          atMs: 0,
          model: 'l',
          promptTokens: 7,
          outputTokens: 4,
          blockIds: [],
          seen: { outcome: 'failed', e2eMs: 3000 },
        },
        {
          atMs: 500,
          model: 'm',
          promptTokens: 9,
          outputTokens: 4,
          blockIds: [],
          seen: { outcome: 'completed', ttftMs: 500, e2eMs: 1500 },
        },
      ]);
    }
  });

  it('OpenTelemetry: calls of models in batches on lines or in one document, not the agents around them', () => {
    const later = span(CHAT, 1_759_813_209_000_000_000n, { status: { code: 2 } });
    const agent = span({ ...CHAT, 'gen_ai.operation.name': 'invoke_agent' });
    const old = span(
      { 'gen_ai.usage.prompt_tokens': 5, 'gen_ai.usage.completion_tokens': 2 },
      1_759_813_208_000_000_000n,
    );
    const texts = [
      `${JSON.stringify(batch(later, agent))}\n${JSON.stringify(batch(old, span(CHAT)))}\n`,
      JSON.stringify(batch(later, agent, old, span(CHAT)), undefined, 2),
    ];
    for (const text of texts) {
      const { requests, notes } = read(text);
      expect(
        requests.map(({ atMs, model, promptTokens, session, seen }) => [
          atMs,
          model,
          promptTokens,
          session,
          seen?.outcome,
        ]),
      ).toEqual([
        [0, 'm', 12, 'talk', 'completed'],
        [1000, '', 5, undefined, 'completed'],
        [2000, 'm', 12, 'talk', 'failed'],
      ]);
      expect(notes).toEqual(['left out: 1 record, which contains no request of known size']);
    }
  });

  it('AIPerf’s conversations: a turn without a time comes its delay after the turn before', () => {
    const lines = [
      { timestamp: 0, input_length: 10, output_length: 2, session_id: 'a' },
      { delay: 5000, input_length: 20, output_length: 2, session_id: 'a' },
      { timestamp: 100, input_length: 30, output_length: 2, session_id: 'b' },
    ];
    const { requests } = read(lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(requests.map(({ atMs, session, thinkMs }) => [atMs, session, thinkMs])).toEqual([
      [0, 'a', undefined],
      [100, 'b', undefined],
      [5000, 'a', 5000],
    ]);
    expect(() => read('{"input_length":5}')).toThrow(/\/trace:1: timestamp/);
  });
});

describe('the slice of Mooncake’s trace that ships', () => {
  it('is read with every request', () => {
    const path = packageFile('bench/traces/mooncake-conversation-5min.jsonl');
    const { requests, repaired } = readTrace(path, { lenient: false });
    expect(requests.length).toBeGreaterThan(900);
    expect(requests.length).toBeLessThanOrEqual(1000);
    expect(requests.at(-1)?.atMs).toBeLessThan(300_000);
    expect(repaired).toBe(0);
  });
});
