import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import { loadConfig } from '../../config/load.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { SimulatedClock } from '../../runtime/simulated-clock.ts';
import type { CaptureRecord } from './capture-record.ts';
import { recordOf } from './record-of.ts';
import { startTap } from './start-tap.ts';

const recordsOf = (lines: Uint8Array): readonly CaptureRecord[] =>
  new TextDecoder().decode(lines).trimEnd().split('\n').map(recordOf);

function setUp() {
  const plan = loadConfig({
    text: NAMED_CONFIGS.get('round-robin') ?? '',
    source: 'test',
    catalogue: EMBEDDED_CATALOGUE,
  });
  const tap = startTap({ plan, seed: 1, clock: new SimulatedClock() });
  const network = { get: () => Promise.reject(new Error('none')) };
  const picker = tap.wrapPicker(
    new EndpointPicker({
      plan,
      runtime: { clock: tap.clock, random: seededRandom(1), network },
      wrapScheduler: tap.wrapScheduler,
    }),
  );
  picker.pool.upsert({ id: 'a' as EndpointId, address: 'a:1', labels: new Map() });
  const heard: CaptureRecord[] = [];
  tap.listen((lines, records) => {
    const told = recordsOf(lines);
    expect(told).toHaveLength(records);
    heard.push(...told);
  });
  return { tap, picker, heard };
}

it('hands over what came before somebody begins, so that nothing of it is heard after', () => {
  const { tap, picker, heard } = setUp();
  const route = (id: string): void => picker.route(makeRequest({ id })).done('completed');
  route('before');
  expect(heard).toEqual([]);
  const begun = recordsOf(tap.begin(picker.pool.snapshot()));
  expect(begun.map(({ e }) => e)).toEqual(['capture', '+']);
  expect(heard.map(({ e }) => e)).toEqual(['+', 'q', 'done']);
  route('after');
  tap.drain();
  expect(heard.slice(3)).toMatchObject([
    { e: 'q', r: { id: 'after' } },
    { e: 'done', n: 1, o: 'completed' },
  ]);
  picker.stop();
});

it('tells of a first token and of an end once: Envoy resets the stream of a request that is over', () => {
  const { tap, picker, heard } = setUp();
  const routed = picker.route(makeRequest({ id: 'a' }));
  routed.firstToken();
  routed.firstToken();
  routed.done('completed');
  routed.done('aborted');
  routed.firstToken();
  tap.drain();
  expect(heard.map(({ e }) => e)).toEqual(['+', 'q', 'first', 'done']);
  expect(heard.at(-1)).toMatchObject({ o: 'completed' });
  picker.stop();
});
