import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { Engine } from '../../stub-server/engine/engine.ts';
import { latencyModel } from '../../stub-server/engine/latency-model.ts';
import { encodeBatch } from '../../stub-server/kv-events/encode-batch.ts';
import { EventRecorder } from '../../stub-server/kv-events/event-recorder.ts';
import type { KvEvent } from '../../stub-server/kv-events/kv-event.ts';
import { createMetricsPage, DIALECTS } from '../../stub-server/metrics/engine-page.ts';
import { EngineStats } from '../../stub-server/metrics/engine-stats.ts';
import { lorasInUse } from '../../stub-server/metrics/loras-in-use.ts';
import { PRESETS } from '../../stub-server/presets/presets.ts';

interface Run {
  readonly pages: string;
  readonly events: string;
}

/** A few hundred requests by chance on an engine with jitter, its page and its events as bytes. */
function run(seed: number): Run {
  const clock = new SimulatedClock({ epoch: 1_800_000_000_000 });
  const random = seededRandom(seed);
  const preset = PRESETS['llama-3.1-8b-h100'];
  const wallSeconds = (): number => clock.wallTime() / 1000;
  const events = createHash('sha256');
  const pages = createHash('sha256');
  const publish = (batch: readonly KvEvent[]): void => {
    const timestampS = wallSeconds();
    events.update(encodeBatch({ timestampS, events: batch, dataParallelRank: 0 }, 'map'));
  };
  const recorder = new EventRecorder(16, publish);
  const stats = new EngineStats();
  const sizes = { kvBlocks: 400, blockTokens: 16 };
  const engine = new Engine({
    ...preset,
    ...sizes,
    clock,
    latency: latencyModel(preset.latency),
    observer: stats,
    blockSink: recorder,
    jitter: 0.1,
    random: random.fork('steps'),
  });
  const page = createMetricsPage(DIALECTS.vllm, {
    ...sizes,
    engine,
    stats,
    prefixCaching: true,
    lorasInUse: () => lorasInUse(engine, wallSeconds),
    startSeconds: () => 0,
    model: 'm',
    rank: 0,
    lorasMax: 2,
  });
  const arrive = (left: number): void => {
    const family = Math.floor(random.next() * 20);
    const promptTokens = 1 + Math.floor(random.next() * 600);
    const outputTokens = 1 + Math.floor(random.next() * 80);
    const blockHashes = Array.from({ length: promptTokens >> 4 }, (_, at) => 1000 * family + at);
    const { abort } = engine.submit({ promptTokens, outputTokens, blockHashes });
    if (random.next() < 0.1) clock.setTimer(random.next() * 300, abort);
    pages.update(page());
    publish(recorder.take());
    if (left > 1) clock.setTimer(random.next() * 40, () => arrive(left - 1));
  };
  arrive(400);
  while (clock.step()) continue;
  pages.update(page());
  publish(recorder.take());
  return { pages: pages.digest('hex'), events: events.digest('hex') };
}

it('the same seed gives the same bytes of metrics and of KV events, another seed others', () => {
  const first = run(11);
  expect(run(11)).toEqual(first);
  const other = run(12);
  expect(other.pages).not.toBe(first.pages);
  expect(other.events).not.toBe(first.events);
});
