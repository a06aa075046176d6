import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../test/make-trace.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { NestedCalls } from './nested-calls.ts';

interface Sent {
  readonly id: string;
  readonly parent?: string;
  readonly operation?: string;
  /** Of a call of a model. */
  readonly tokens?: number;
  readonly trace?: string;
}

const START_MS = 1_759_813_207_000;
/** What the client saw, what is between it and the server, and what vLLM says, from the inside out. */
const SERVER: Sent = { id: 'c', parent: 'b', tokens: 13 };
const PROXY: Sent = { id: 'b', parent: 'a' };
const CLIENT: Sent = { id: 'a', operation: 'chat', tokens: 12 };

function attributesOf({ operation, tokens }: Sent): Record<string, string | number> {
  return {
    ...(operation !== undefined && { 'gen_ai.operation.name': operation }),
    ...(tokens !== undefined && { 'gen_ai.usage.input_tokens': tokens }),
  };
}

function otlpLine(sent: Sent, at: number): string {
  const span = {
    traceId: sent.trace ?? 't',
    spanId: sent.id,
    parentSpanId: sent.parent ?? '',
    startTimeUnixNano: `${START_MS + at}000000`,
    endTimeUnixNano: `${START_MS + at + 9}000000`,
    attributes: Object.entries(attributesOf(sent)).map(([key, value]) => ({
      key,
      value: typeof value === 'string' ? { stringValue: value } : { intValue: value },
    })),
  };
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
}

function jaegerSpan(sent: Sent, at: number): object {
  const traceID = sent.trace ?? 't';
  const { parent } = sent;
  return {
    traceID,
    spanID: sent.id,
    references: parent === undefined ? [] : [{ refType: 'CHILD_OF', traceID, spanID: parent }],
    startTime: 1000 * (START_MS + at),
    duration: 9000,
    tags: Object.entries(attributesOf(sent)).map(([key, value]) => ({ key, value })),
  };
}

const FORMATS = {
  otel: (spans: readonly Sent[]): string => spans.map(otlpLine).join('\n'),
  jaeger: (spans: readonly Sent[]): string =>
    JSON.stringify({ data: [{ traceID: 't', spans: spans.map(jaegerSpan) }] }),
};

/** The prompts of the requests, which are their names here. */
function promptsOf(spans: readonly Sent[], format: keyof typeof FORMATS = 'otel'): number[] {
  const { requests } = readBytes(FORMATS[format](spans), { lenient: false, from: format });
  return requests.map(({ promptTokens }) => promptTokens);
}

describe.each(['otel', 'jaeger'] as const)('[G305] a call with several spans in %s', (format) => {
  it('counts once, as the client saw it, in whatever order its spans are', () => {
    const spans = [SERVER, PROXY, CLIENT];
    for (const [a, b, c] of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
      [0, 2, 1],
    ] as const) {
      const order = [spans[a], spans[b], spans[c]] as Sent[];
      expect(promptsOf(order, format)).toEqual([12]);
    }
  });

  it('says how many spans are left out, and begins with what counts', () => {
    const text = FORMATS[format]([SERVER, PROXY, CLIENT, { ...CLIENT, id: 'z', tokens: 14 }]);
    const { requests, notes } = readBytes(text, { lenient: false });
    expect(requests.map(({ atMs, promptTokens }) => [atMs, promptTokens])).toEqual([
      [0, 12],
      [1, 14],
    ]);
    expect(notes).toContain('left out: 1 span of calls that other spans show, too');
  });
});

describe('[G305] calls', () => {
  it('of different traces, beside each other, or without a common span are different ones', () => {
    expect(promptsOf([SERVER, PROXY, { ...CLIENT, trace: 'u' }])).toEqual([13, 12]);
    expect(promptsOf([SERVER, { ...SERVER, id: 'd', tokens: 14 }, PROXY])).toEqual([13, 14]);
    expect(promptsOf([SERVER, CLIENT])).toEqual([13, 12]);
  });

  it('of an agent or a tool within the call of another are their own', () => {
    for (const operation of ['invoke_agent', 'execute_tool']) {
      expect(promptsOf([SERVER, { ...PROXY, operation }, CLIENT])).toEqual([13, 12]);
    }
  });

  it('count by themselves where the span around them has no tokens', () => {
    expect(promptsOf([SERVER, PROXY, { id: 'a', operation: 'chat' }])).toEqual([13]);
  });

  it('count in place of a span around them that names no operation and has their sum', () => {
    const turn = (id: string, tokens: number): Sent => ({ ...CLIENT, id, parent: 'sum', tokens });
    const server = { ...SERVER, parent: 'x' };
    const spans = [server, turn('x', 5), turn('y', 6), { id: 'sum', tokens: 11 }];
    expect(promptsOf(spans)).toEqual([5, 6]);
    expect(promptsOf(spans.toReversed())).toEqual([6, 5]);
  });

  it('are read where the place of a span is damaged, or spans are around each other', () => {
    const damaged = otlpLine(CLIENT, 0).replace('"spanId":"a"', '"spanId":7');
    expect(readBytes(damaged, { lenient: false }).requests).toHaveLength(1);
    expect(promptsOf([{ ...CLIENT, parent: 'a' }])).toEqual([12]);
    const loop = [
      { ...PROXY, parent: 'd' },
      { id: 'd', parent: 'b' },
    ];
    expect(promptsOf([SERVER, ...loop, CLIENT])).toEqual([13, 12]);
  });

  it('whose request is refused stand for no other', () => {
    const late = otlpLine(CLIENT, 3 * 366 * 86_400_000);
    const text = [otlpLine(SERVER, 0), otlpLine(PROXY, 1), late].join('\n');
    const { requests } = readBytes(text, { lenient: true });
    expect(requests.map(({ promptTokens }) => promptTokens)).toEqual([13]);
  });
});

it('[G305] are found among the spans held, however many there are in the file', () => {
  const seed = 5;
  const random = seededRandom(seed);
  const nested = new NestedCalls(100);
  const servers: number[] = [];
  for (let row = 0; row < 2000; row += 2) {
    const trace = `t${row}`;
    const spans = [
      () => nested.addCall({ trace, span: 'c', parent: 'b' }, false),
      () => nested.addOther({ trace, span: 'b', parent: 'a' }),
      () => nested.addCall({ trace, span: 'a', parent: '' }, true),
    ];
    if (random.next() < 0.5) {
      spans.reverse();
      servers.push(row + 1);
    } else servers.push(row);
    for (const add of spans) add();
    nested.placeCall(row);
    nested.placeCall(row + 1);
  }
  expect(
    nested.rowsLeftOut().toSorted((a, b) => a - b),
    `seed ${seed}`,
  ).toEqual(servers);
});
