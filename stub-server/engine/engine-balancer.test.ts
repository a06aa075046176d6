import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { type BalancingRule, EngineBalancer } from './engine-balancer.ts';
import type { ModelEngine } from './model-engine.ts';
import type { SequenceRequest } from './sequence.ts';

const REQUEST: SequenceRequest = { promptTokens: 1, outputTokens: 1, blockHashes: [] };

/** Engines whose counts the test sets, and what was submitted to them. */
function engines(...loads: readonly (readonly [waiting: number, running: number, kv?: number])[]) {
  return loads.map(([waitingCount, runningCount, usage = 0]) => {
    const submitted: SequenceRequest[] = [];
    const submit = (request: SequenceRequest): object => {
      submitted.push(request);
      return {};
    };
    return { waitingCount, runningCount, kv: { pool: { usage } }, submit, submitted };
  });
}

function balancer(rule: BalancingRule, pool: ReturnType<typeof engines>) {
  const clock = new SimulatedClock();
  const chooser = new EngineBalancer(pool, { rule, clock });
  return {
    clock,
    chosen: (count: number) => Array.from({ length: count }, () => chooser.choose()),
    send: () => {
      const index = chooser.choose();
      chooser.submit(pool[index] as unknown as ModelEngine, index, REQUEST);
      return index;
    },
  };
}

describe('[B257] a server with several engines', () => {
  it('as vLLM before July 2026 counts a waiting request as four running ones', () => {
    const { chosen } = balancer('queues', engines([1, 0], [0, 3], [0, 5]));
    expect(chosen(3)).toEqual([1, 0, 2]);
  });

  it('counts what it has sent itself until it reads the engines again after 100 ms', () => {
    const { chosen, clock } = balancer('queues', engines([0, 0], [0, 1]));
    expect(chosen(2)).toEqual([0, 1]);
    clock.advanceTo(99);
    expect(chosen(1)).toEqual([0]);
    clock.advanceTo(100);
    expect(chosen(1)).toEqual([0]);
  });

  it('as vLLM since then goes by the requests that have not ended', () => {
    const pool = engines([0, 0], [0, 0]);
    const { send, clock } = balancer('in-flight', pool);
    expect([send(), send(), send()]).toEqual([0, 1, 0]);
    clock.advanceTo(200);
    pool[0]?.submitted.forEach(({ onDone }) => {
      onDone?.('length', { promptTokens: 1, completionTokens: 1, cachedTokens: 0 }, 200);
    });
    expect([send(), send(), send()]).toEqual([0, 0, 1]);
  });

  it('takes turns among engines that are alike, and keeps off full memory that others wait for', () => {
    expect(balancer('in-flight', engines([0, 5], [0, 5], [0, 5])).chosen(4)).toEqual([0, 1, 2, 0]);
    expect(balancer('in-flight', engines([3, 5, 1], [3, 9, 0.4])).chosen(1)).toEqual([1]);
    expect(balancer('in-flight', engines([3, 5, 0.5], [3, 9, 0.4])).chosen(1)).toEqual([0]);
  });

  it('as SGLang takes one engine after the other, whatever their load', () => {
    expect(balancer('turns', engines([9, 9], [0, 0], [0, 0])).chosen(4)).toEqual([0, 1, 2, 0]);
  });
});
