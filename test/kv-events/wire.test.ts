import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { PrecisePrefixIndex } from '../../src/endpoints/kv-events/precise-prefix-producer.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { Routed } from '../../src/framework/observer.ts';
import type { Clock } from '../../src/framework/runtime.ts';
import { createOpenBody } from '../../src/openai/parsers/open-body.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { createRealRuntime, type RealRuntime } from '../../src/runtime/real-runtime.ts';
import type { KvEvent } from '../../stub-server/kv-events/kv-event.ts';
import { KvEventPublisher } from '../../stub-server/kv-events/kv-event-publisher.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

/** Real loopback sockets: the stub's publishers, the picker's subscribers and its tokenizer. */

const CONFIG = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: precise-prefix-cache-scorer
- type: token-producer
  parameters: {}
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: precise-prefix-cache-scorer
`;

/** As the first precise indexes were configured: they had tokenizers of their own. */
const OLDER_CONFIG = `apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: prefix-cache-scorer
  parameters: {mode: cache_tracking, indexerConfig: {tokenizersPoolConfig: {modelName: m}}}
`;

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 1 });
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Picking {
  readonly picker: EndpointPicker;
  readonly runtime: RealRuntime;
  readonly index: PrecisePrefixIndex;
  readonly routed: Routed[];
  /** Prepares and routes as the gateway does. Returns the endpoint and its cached tokens. */
  route(path: string, body: unknown): Promise<Routed>;
}

/** With patience all deadlines are so many times longer: a tokenizer on a busy machine is slow. */
function startPicking({ patience = 1, text = CONFIG } = {}): Picking {
  const real = createRealRuntime({ seed: 1 });
  const clock: Clock = {
    now: () => real.clock.now(),
    wallTime: () => real.clock.wallTime(),
    setTimer: (delay, callback) => real.clock.setTimer(patience * delay, callback),
  };
  const runtime = { ...real, clock };
  const routed: Routed[] = [];
  const picker = new EndpointPicker({
    plan: loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE }),
    runtime,
    subscribers: [{ onRouted: (each) => void routed.push(each) }],
  });
  closers.push(async () => {
    picker.stop();
    await runtime.network.close();
  });
  const index = picker.observers().find((each) => each instanceof PrecisePrefixIndex);
  if (index === undefined) throw new Error('the configuration has brought no precise index');
  let requests = 0;
  return {
    picker,
    runtime,
    index,
    routed,
    route: async (path, body) => {
      const headers = new Map([
        [':path', path],
        ['content-type', 'application/json'],
      ]);
      const reader = openBody({ id: `r${requests++}`, path, headers });
      const bytes = Buffer.from(JSON.stringify(body));
      reader.push(bytes);
      const request = reader.end();
      await new Promise<void>((resolve) => {
        if (picker.prepare?.(request, [bytes], resolve) !== true) resolve();
      });
      picker.route(request).done('completed');
      return routed.at(-1) as Routed;
    },
  };
}

async function startStubs(options: Record<string, unknown> = {}): Promise<StubPool> {
  const pool = await startStubPool(
    stubOptions.parse({ count: 2, port: 0, speed: 10, model: 'm', kvEventsPort: 0, ...options }),
  );
  closers.push(() => pool.stop());
  return pool;
}

function addStubs({ picker }: Picking, pool: StubPool): void {
  pool.endpoints.forEach(({ address }, at) => {
    const { endpoint, replayEndpoint = '' } = pool.kvEvents[at] ?? { endpoint: '' };
    const labels = new Map([
      ['pointsman.dev/kv-events', endpoint],
      ...(replayEndpoint === ''
        ? []
        : ([['pointsman.dev/kv-events-replay', replayEndpoint]] as const)),
    ]);
    picker.pool.upsert({ id: `stub-${at}` as EndpointId, address, labels });
  });
}

interface Answer {
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number } | null;
  };
  readonly choices: readonly { readonly message?: { readonly content: string } }[];
}

async function complete(address: string, path: string, body: unknown): Promise<Answer> {
  const response = await fetch(`http://${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

const cachedIn = ({ usage }: Answer): number => usage.prompt_tokens_details?.cached_tokens ?? 0;

describe('the picker beside real engines', () => {
  it.each([
    ['array', CONFIG],
    ['map', CONFIG],
    ['map-batch', CONFIG],
    ['array by the older configuration of [D518]', OLDER_CONFIG],
  ])(
    '[E8] [E9] predicts the cached tokens of text exactly as the stub then reports them, as %s',
    async (format, config) => {
      const [kvEventsFormat] = format.split(' ');
      const pool = await startStubs({ kvEventsFormat, kvEventsReplayPort: 0 });
      const picking = startPicking({ patience: 100, text: config });
      addStubs(picking, pool);
      const addresses = pool.endpoints.map(({ address }) => address);
      const text = (words: number, about: string): string => `${about} `.repeat(words);
      const turns = [
        ['/v1/completions', { model: 'm', prompt: text(200, 'trains'), max_tokens: 4 }],
        ['/v1/completions', { model: 'm', prompt: text(300, 'trains'), max_tokens: 4 }],
        ['/v1/completions', { model: 'm', prompt: text(100, 'points'), max_tokens: 4 }],
        [
          '/v1/chat/completions',
          { model: 'm', messages: [{ role: 'user', content: text(90, 'signals') }], max_tokens: 4 },
        ],
        ['/v1/completions', { model: 'm', prompt: text(400, 'trains'), max_tokens: 4 }],
        [
          '/v1/chat/completions',
          { model: 'm', messages: [{ role: 'user', content: text(95, 'signals') }], max_tokens: 4 },
        ],
      ] as const;
      let predictions = 0;
      for (const [turn, [path, body]] of turns.entries()) {
        // Sent now here, now there; then the picker has to know where it went.
        const to = turn % 2;
        const engine = pool.endpoints[to]?.engine;
        await complete(addresses[to] ?? '', path, body);
        const endpoint = picking.picker.pool.snapshot()[to];
        await eventually(
          () => endpoint && picking.index.size(endpoint),
          (size) => size === engine?.kv.pool.contents().size,
        );
        const { endpoint: target, cachedTokens } = await picking.route(path, body);
        expect(target.address).toBe(addresses[to]);
        const again = await complete(target.address, path, body);
        // The last token of a prompt is always computed.
        const whole = Math.floor((again.usage.prompt_tokens - 1) / 16) * 16;
        expect(Math.min(cachedTokens, whole)).toBe(cachedIn(again));
        expect(cachedTokens).toBeGreaterThan(0);
        predictions += 1;
      }
      expect(predictions).toBe(6);
      expect(picking.index.matches.approximate).toBe(0);
    },
  );

  it('[E4] forgets what a publisher knew that comes back on the same port with an empty cache', async () => {
    const first = await startPublisher();
    const picking = startPicking();
    const labels = new Map([
      ['pointsman.dev/kv-events', first.endpoint],
      ['pointsman.dev/kv-events-replay', first.replayEndpoint ?? ''],
    ]);
    const id = 'a' as EndpointId;
    picking.picker.pool.upsert({ id, address: '127.0.0.1:1', labels });
    const [endpoint] = picking.picker.pool.snapshot();
    const size = (): number => (endpoint === undefined ? -1 : picking.index.size(endpoint));
    for (let at = 0; at < 5; at++) first.publish([storedBlock(at)]);
    await eventually(size, (blocks) => blocks === 5);
    const { endpoint: at, replayEndpoint } = first;
    await first.close();
    const second = await startPublisher(at, replayEndpoint);
    second.publish([storedBlock(100)]);
    await eventually(size, (blocks) => blocks === 1);
    const events = endpoint && picking.index.events(endpoint);
    expect(events?.view.knowledge).toBe('complete');
    expect(events?.stats.restarts).toBe(1);
  });

  it('[E1] [E8] gets all of a burst that came while it was not connected', async () => {
    const publisher = await startPublisher();
    const picking = startPicking();
    const labels = new Map([['pointsman.dev/kv-events', publisher.endpoint]]);
    picking.picker.pool.upsert({ id: 'a' as EndpointId, address: '127.0.0.1:1', labels });
    const [endpoint] = picking.picker.pool.snapshot();
    const stats = () => endpoint && picking.index.events(endpoint)?.stats;
    // Until the subscription has reached the publisher, no events arrive.
    let sent = 0;
    await eventually(
      () => {
        publisher.publish([storedBlock(sent++)]);
        return stats()?.batches ?? 0;
      },
      (batches) => batches > 0,
    );
    const missed = sent - (stats()?.batches ?? 0);
    // More than ZMQ keeps for us in our process: the publisher's queue takes the rest.
    for (let at = 0; at < 5000; at++) publisher.publish([storedBlock(sent++)]);
    await eventually(
      () => stats()?.batches ?? 0,
      (batches) => batches >= sent - missed - 1,
    );
    expect(stats()).toMatchObject({ drops: 0, malformed: 0 });
  });
});

/** An address of these tests alone: another process cannot take a port between two publishers. */
const ANY_PORT = 'tcp://127.77.0.1:*';

/** Tries again for a minute: ZMQ gives a port back some time after its socket was closed. */
async function startPublisher(
  endpoint = ANY_PORT,
  replayEndpoint: string | undefined = ANY_PORT,
): Promise<KvEventPublisher> {
  const started = await eventually(
    () => openPublisher(endpoint, replayEndpoint),
    (opened) => opened instanceof KvEventPublisher,
  );
  if (!(started instanceof KvEventPublisher)) throw started;
  return started;
}

async function openPublisher(
  endpoint: string,
  replayEndpoint: string,
): Promise<KvEventPublisher | Error> {
  let at = Date.now() / 1000;
  const publisher = new KvEventPublisher({
    endpoint,
    bind: true,
    replayEndpoint,
    topic: 'kv@127.0.0.1:1@m',
    format: 'array',
    dataParallelRank: 0,
    wallSeconds: () => (at += 0.001),
  });
  closers.push(() => publisher.close());
  try {
    await publisher.open();
    return publisher;
  } catch (error) {
    await publisher.close();
    return error as Error;
  }
}

function storedBlock(hash: number): KvEvent {
  return {
    type: 'BlockStored',
    blockHashes: [hash],
    parentBlockHash: null,
    tokenIds: [hash, 2, 3, 4],
    blockSize: 4,
    loraName: null,
    medium: 'GPU',
  };
}
