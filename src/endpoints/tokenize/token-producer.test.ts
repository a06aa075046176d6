import { expect, it } from 'vitest';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { tokenizerOf, tokenProducer } from './token-producer.ts';

it('[D380] a pool keeps the tokenizer of a configuration that is loaded again, and its times', () => {
  const pool = new EndpointPool();
  const runtime = {
    clock: new SimulatedClock(),
    random: seededRandom(1),
    network: { get: () => Promise.reject(new Error('not asked')) },
  };
  const start = (url: string) =>
    tokenProducer.start({ vllm: { url } }, { name: 'token-producer', pool, runtime });
  const former = start('http://a');
  const next = start('http://b');
  const told: number[] = [];
  next.timeAnswers?.({ now: () => 0, observe: (tookMs) => void told.push(tookMs) });
  former.stop();
  expect(tokenizerOf(pool).url).toBe('http://b');
  tokenizerOf(pool).stopwatch?.observe(3);
  expect(told).toEqual([3]);
  next.stop();
  expect(tokenizerOf(pool).url).toBeUndefined();
});

it.each([
  [{ vllm: {}, udsTokenizerConfig: { socketFile: '/tmp/t.socket' } }, false],
  [{ vllm: {}, estimate: {} }, false],
  [{ estimate: {}, udsTokenizerConfig: { socketFile: '/tmp/t.socket' } }, false],
  [{ vllm: {}, udsTokenizerConfig: { socketFile: '' } }, true],
  [{ modelName: 'm', udsTokenizerConfig: { socketFile: '/tmp/t.socket' } }, true],
])('[D474] names one tokenizer: %j', (parameters, isTaken) => {
  const parse = (): unknown => tokenProducer.config.parse(parameters);
  if (isTaken) expect(parse()).toBeDefined();
  else expect(parse).toThrow('one of estimate, vllm and udsTokenizerConfig');
});
