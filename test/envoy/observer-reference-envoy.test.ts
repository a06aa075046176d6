import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Document, isSeq } from 'yaml';
import { envoyBinary, eventually, inFlightAt } from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import type { Serving } from '../../src/serve/serve.ts';
import { referenceScript, type Turn } from '../support/grpc/reference-script.ts';
import { type ScriptedPicker, startScriptedPicker } from '../support/grpc/scripted-picker.ts';
import { ask, envoyWith, observed, startObserver, WIRINGS } from '../support/observer-bed.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();

/** So long that the first piece has reached the client, and the second is one of its own. */
const BETWEEN_PIECES_MS = 300;
const LONG = 'word '.repeat(40_000);
const refusal = (status: number): Turn => ({ status, reason: 'rejected-capacity' });

interface Case {
  readonly what: string;
  readonly turn: Turn;
  readonly send: (url: string) => Promise<Response>;
  readonly counted: Readonly<Record<string, number>>;
}

/** What the other picker does with a request, and how the observer counts it. */
const CASES: readonly Case[] = [
  { what: 'a long body', turn: 'picks', send: (url) => ask(url, LONG), counted: { booked: 1 } },
  { what: 'a stream', turn: 'picks', send: (url) => ask(url, '', true), counted: { booked: 1 } },
  {
    what: 'no body',
    turn: 'picks',
    send: (url) => fetch(`${url}/v1/models`),
    counted: {},
  },
  { what: '429', turn: refusal(429), send: (url) => ask(url, ''), counted: { refused: 1 } },
  { what: '503', turn: refusal(503), send: (url) => ask(url, LONG), counted: { refused: 1 } },
  { what: 'a failure', turn: 'fails', send: (url) => ask(url, ''), counted: { refused: 1 } },
  {
    what: 'an eviction',
    turn: 'evicts',
    send: (url) => ask(url, '', true),
    counted: { booked: 1 },
  },
  {
    what: 'an answer that is not watched',
    turn: 'leaves',
    send: (url) => ask(url, '', true),
    counted: { booked: 1 },
  },
];

/** A scripted picker answers no health checks. */
function uncheckedPicker(config: Document): void {
  const clusters = config.getIn(['static_resources', 'clusters']);
  for (let at = 0; isSeq(clusters) && at < clusters.items.length; at++) {
    const cluster = ['static_resources', 'clusters', at];
    if (config.getIn([...cluster, 'name']) === 'ext_proc') {
      config.deleteIn([...cluster, 'health_checks']);
    }
  }
}

const alone = (config: Document): void => {
  config.deleteIn([...CONNECTION_MANAGER, 'http_filters', 1]);
};

/** Of answers that Envoy makes itself, a filter that sends bodies makes it forget the length. */
const OF_THE_CONNECTION =
  /^(?:date|x-envoy-upstream-service-time|content-length|transfer-encoding)$/;

describe.skipIf(binary === undefined)('beside a picker that answers as the reference does', () => {
  let upstream: Upstream;
  let picker: ScriptedPicker;
  let observer: Serving;

  beforeAll(async () => {
    upstream = await startUpstream();
    upstream.answer(({ bodyBytes }, response) => {
      // Those that ask for a stream have short bodies.
      const streams = bodyBytes > 0 && bodyBytes < 1000;
      const type = streams ? 'text/event-stream' : 'application/json';
      response.writeHead(200, { 'content-type': type });
      if (!streams) return void response.end(JSON.stringify({ text: 'x'.repeat(150_000) }));
      // A picker that leaves at its pick has left: Envoy loses what it has sent to one that leaves.
      setTimeout(() => response.write('data: {"choices":[{"text":"one"}]}\n\n'), BETWEEN_PIECES_MS);
      setTimeout(() => response.end('data: [DONE]\n\n'), 2 * BETWEEN_PIECES_MS);
    });
    picker = await startScriptedPicker(upstream.address);
    observer = await startObserver({ endpoints: [upstream.address] });
  });
  afterAll(async () => {
    await observer?.stop();
    picker?.stop();
    await upstream?.stop();
  });

  /** What client and server got of each case. */
  async function passed(url: string, { turn, send }: Case): Promise<object> {
    picker.script(referenceScript(upstream.address, turn));
    const before = upstream.received.length;
    const response = await send(url);
    const answer = await response.text().catch(() => 'cut off');
    const headers = [...response.headers].filter(([name]) => !OF_THE_CONNECTION.test(name));
    const { 'x-request-id': _id, host: _host, ...got } = upstream.received[before]?.headers ?? {};
    const body = upstream.received[before]?.bodySha256;
    return { status: response.status, headers, answer, got, body };
  }

  it.each(WIRINGS)(
    '[D482] passes on what would pass without it, and counts each request: %s',
    async (_name, edit) => {
      const change = (more?: (config: Document) => void) => (config: Document) => {
        more?.(config);
        uncheckedPicker(config);
      };
      const without = await envoyWith(picker.port, observer.extProcPort, change(alone));
      const wanted: object[] = [];
      for (const each of CASES) wanted.push(await passed(without.url, each));
      await without.stop();
      const envoy = await envoyWith(picker.port, observer.extProcPort, change(edit));
      try {
        for (const [at, each] of CASES.entries()) {
          const before = await observed(observer.metricsPort);
          expect(await passed(envoy.url, each), each.what).toEqual(wanted[at]);
          await eventually(
            async () => since(before, await observed(observer.metricsPort)),
            (counts) => JSON.stringify(counts) === JSON.stringify(each.counted),
          );
        }
        await eventually(
          () => inFlightAt(observer.metricsPort),
          (count) => count === 0,
        );
      } finally {
        await envoy.stop();
      }
    },
    120_000,
  );
});

function since(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const changes = Object.entries(after).map(
    ([outcome, count]) => [outcome, count - (before[outcome] ?? 0)] as const,
  );
  return Object.fromEntries(changes.filter(([, change]) => change > 0));
}
