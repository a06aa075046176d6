import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { freePort } from '../scenarios/processes.ts';

/** What the picker expects of caches where they have two tiers, and where engines restart. */

const binary = await envoyBinary();
const SERVERS = 3;
const TURNS = 8;
const CONVERSATIONS = 6;
/**
 * The stub's answers have random lengths: with this bound a whole conversation fits its context.
 */
const ANSWER_TOKENS_MAX = 200;

interface Described {
  readonly endpoints: readonly DescribedEndpoint[];
}

interface DescribedEndpoint {
  readonly startedAt: string;
  readonly kvEvents?: readonly {
    readonly known: string;
    readonly reconnections: number;
    readonly blocks: number;
  }[];
}

interface Ports {
  readonly events: number;
  readonly replay: number;
}

/** What is cached is known from events of the engines, and tokens from one of them. */
const precise = (tokenizer: string, { events, replay }: Ports): PickerPlan =>
  loadConfig({
    source: 'test',
    catalogue: SERVING_CATALOGUE,
    text: `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: token-producer
  # On a busy machine its answer can take longer than the default waits; then a match is estimated.
  parameters: {modelName: m, vllm: {url: "http://${tokenizer}", timeout: 60s}}
- type: precise-prefix-cache-producer
  parameters:
    tokenProcessorConfig: {blockSizeTokens: 16}
    indexerConfig: {kvCacheBackendConfigs: [{name: gpu, weight: 1}, {name: cpu, weight: 1}]}
    kvEventsConfig: {podDiscoveryConfig: {socketPort: ${events}, replaySocketPort: ${replay}}}
- type: prefix-cache-scorer
  parameters: {prefixMatchInfoProducerName: precise-prefix-cache-producer}
- type: queue-scorer
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: queue-scorer, weight: 1}
`,
  });

describe.skipIf(binary === undefined)('conversations through Envoy', () => {
  let pool: StubPool;
  let stack: Stack;
  afterEach(async () => {
    await stack?.stop();
    await pool?.stop();
  });

  async function start(options: object, config: 'precise' | 'default'): Promise<void> {
    const ports = { events: await freePort(), replay: await freePort() };
    pool = await startStubPool(
      stubOptions.parse({
        count: SERVERS,
        host: '127.0.0.41',
        spread: 'addresses',
        port: 0,
        speed: 10,
        model: 'm',
        kvEventsPort: ports.events,
        kvEventsReplayPort: ports.replay,
        ...options,
      }),
    );
    const endpoints = pool.endpoints.map(({ address }) => address);
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints,
      ...(config === 'precise' && { serve: { plan: precise(endpoints[0] ?? '', ports) } }),
    });
  }

  async function counted(name: string): Promise<number> {
    const page = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`);
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await page.text())?.[1] ?? 0);
  }

  async function expectTruth(): Promise<void> {
    const reported = await counted('llm_d_epp_prefix_reported_tokens_total');
    const ratio = (await counted('llm_d_epp_prefix_predicted_tokens_total')) / reported;
    expect(reported).toBeGreaterThan(CONVERSATIONS * TURNS * 100);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.05);
  }

  async function described(): Promise<readonly DescribedEndpoint[]> {
    const page = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/debug/endpoints`);
    return ((await page.json()) as Described).endpoints;
  }

  /** Until all events have come: clients are slower than they are, but not on a busy machine. */
  async function untilEventsCame(): Promise<void> {
    await eventually(described, (endpoints) =>
      endpoints.every(({ kvEvents = [] }, at) =>
        kvEvents.every(({ blocks }) => blocks === blocksHeld(pool.endpoints[at]?.engine)),
      ),
    );
  }

  async function restartAll(): Promise<void> {
    const before = await described();
    for (const { address } of pool.endpoints) {
      const url = `http://${address}/stub/faults`;
      await fetch(url, { method: 'POST', body: '{"kind":"crash"}' });
      await fetch(url, { method: 'DELETE' });
    }
    // Until the picker has seen the new processes, it counts on what there was.
    await eventually(described, (endpoints) =>
      endpoints.every(
        ({ startedAt, kvEvents = [] }, at) =>
          startedAt !== before[at]?.startedAt &&
          kvEvents.every(
            ({ known, reconnections, blocks }) =>
              known === 'complete' && reconnections > 0 && blocks === 0,
          ),
      ),
    );
  }

  const reportedBy = (pattern: RegExp): Promise<number> =>
    Promise.all(
      pool.endpoints.map(async ({ address }) => {
        const page = await (await fetch(`http://${address}/metrics`)).text();
        return Number(pattern.exec(page)?.[1] ?? 0);
      }),
    ).then((values) => values.reduce((total, value) => total + value));

  test('[B32] with host memory behind the accelerators, from which much of it comes', async () => {
    await start({ kvBlocks: 400, hostTier: { blocks: 10_000 } }, 'precise');
    await converse(stack.url, [0, TURNS], { afterTurn: untilEventsCame });
    await expectTruth();
    const loaded = await reportedBy(/^vllm:external_prefix_cache_hits_total\{.*\} (.*)$/m);
    expect(loaded).toBeGreaterThan(5000);
  });

  test('[D476] with several texts, each from its own beginning', async () => {
    await start({}, 'precise');
    const client = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const examples = Array.from({ length: CONVERSATIONS }, (_, name) =>
      `Examples of ${name}: ${'what else is there to say? '.repeat(60)}`.slice(0, 1600),
    );
    const ask = (prompt: string | string[]) =>
      client.completions.create({ model: 'm', prompt, max_tokens: 4 });
    await Promise.all(examples.map((shared) => ask(shared)));
    for (let turn = 0; turn < TURNS; turn++) {
      await untilEventsCame();
      await Promise.all(
        examples.map((shared) => ask([`${shared} First ${turn}`, `${shared} Second ${turn}`])),
      );
    }
    await expectTruth();
    const byEvents = await counted('llm_d_epp_kv_cache_index_lookup_requests_total');
    expect(byEvents).toBeGreaterThanOrEqual(CONVERSATIONS * TURNS);
  });

  test.each(['precise', 'default'] as const)(
    '[B32] %s: after the engines have restarted',
    async (config) => {
      await start({}, config);
      const history = await converse(stack.url, [0, TURNS / 2], { afterTurn: untilEventsCame });
      await restartAll();
      await converse(stack.url, [TURNS / 2, TURNS], {
        history,
        afterTurn: untilEventsCame,
      });
      await expectTruth();
    },
  );
});

/** Distinct blocks in the memory of the accelerator and of the host. */
function blocksHeld(engine: StubPool['endpoints'][number]['engine'] | undefined): number {
  const { pool: blocks, host } = engine?.kv ?? {};
  return new Set([...(blocks?.contents().keys() ?? []), ...(host?.contents() ?? [])]).size;
}

type History = OpenAI.ChatCompletionMessageParam[][];

/** The turns `from` to `to`, each of all conversations at once, with the answers before it. */
async function converse(
  url: string,
  [from, to]: readonly [number, number],
  { history, afterTurn }: { readonly history?: History; readonly afterTurn?: () => Promise<void> },
): Promise<History> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const all: History = history ?? Array.from({ length: CONVERSATIONS }, () => []);
  for (let turn = from; turn < to; turn++) {
    await Promise.all(
      all.map(async (messages, name) => {
        const content = `Question ${turn} of ${name}: ${'what else is there to say? '.repeat(60)}`;
        messages.push({ role: 'user', content });
        const { choices } = await client.chat.completions.create({
          model: 'm',
          messages,
          max_tokens: ANSWER_TOKENS_MAX,
        });
        messages.push({ role: 'assistant', content: choices[0]?.message.content ?? '' });
      }),
    );
    await afterTurn?.();
  }
  return all;
}
