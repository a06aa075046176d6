import { expect, it } from 'vitest';
import type { AttributeKey, EndpointId, EndpointMetrics } from '../../src/framework/endpoint.ts';
import * as attributes from '../../src/framework/endpoint-attributes.ts';
import { CaptureLines } from '../../src/journal/capture/capture-lines.ts';
import { poolRecords } from '../../src/journal/capture/endpoint-records.ts';
import { recordOf } from '../../src/journal/capture/record-of.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { applyEndpointRecord, metricsOf } from '../../src/redecide/captured-inputs.ts';
import { PendingUpdates } from '../../src/remote/pending-updates.ts';
import { expectNoFault } from '../house/faults.ts';

/**
 * What is known of an endpoint leaves the process by two ways. A field that is added to
 * `EndpointMetrics` must be added to `EVERY_FIELD`, or the types do not fit, and an attribute of
 * `attributes.ts` to `EVERY_ATTRIBUTE`; then each way must carry it, or say here that it does not, and
 * why.
 */
const EVERY_FIELD: Required<EndpointMetrics> = {
  waitingQueueSize: 4,
  runningRequests: 7,
  kvCacheUsage: 0.5,
  sampledAt: 20,
};

const EVERY_ATTRIBUTE: ReadonlyMap<AttributeKey<unknown>, unknown> = new Map<
  AttributeKey<unknown>,
  unknown
>([
  [attributes.LORA, { running: new Set(['a']), waiting: new Set(['b']), max: 2 }],
  [attributes.CACHE_CONFIG, { blocks: 100, blockTokens: 16 }],
  [attributes.ENGINE_COUNT, 8],
  [attributes.STARTED_AT, 1_700_000_000],
  [attributes.CUSTOM_METRICS, new Map([['spare', 3]])],
  [attributes.LABEL_ATTRIBUTES, new Map([['tier', 'gold']])],
  [attributes.MODELS, [{ id: 'base', isAdapter: false }]],
  [attributes.GPU_UTILIZATION, 0.25],
  [attributes.CONTEXT_WINDOW, 8192],
]);

/** Where a capture gets it, and gives it back. */
const CAPTURED_BY =
  'a record in capture-record.ts, written by endpoint-records.ts (both in src/journal/capture), read by captured-inputs.ts of src/redecide';
/** Where a capture gets each new sample. */
const SAMPLED_BY = 'src/journal/capture/capture-lines.ts writes it in `sampled`';

/** Where a scheduler in another process gets it. */
const SENT_BY =
  'pending-updates.ts of src/remote writes it into a message of scheduler.proto and messages.ts';

const LABELS = new Map([['zone', 'north']]);
const ID = 'pod' as EndpointId;

function fullPool(): EndpointPool {
  const pool = new EndpointPool();
  pool.upsert({ id: ID, address: '10.0.0.1:8000', labels: LABELS });
  pool.observe(ID, EVERY_FIELD);
  for (const [key, value] of EVERY_ATTRIBUTE) pool.set(ID, key, value);
  return pool;
}

it('[T22] has a value for every attribute that endpoints have', () => {
  const all = Object.values<object | string | number | readonly string[]>({ ...attributes }).filter(
    (each) => typeof each === 'object' && 'initial' in each,
  );
  const missing = all.filter((key) => !EVERY_ATTRIBUTE.has(key as AttributeKey<unknown>));
  expectNoFault(
    missing.map((key) => (key as AttributeKey<unknown>).name),
    'give these attributes of src/framework/endpoint-attributes.ts a value in EVERY_ATTRIBUTE of this file; then carry them where the tests below fail',
  );
  expect(all).toHaveLength(EVERY_ATTRIBUTE.size);
});

it('[T22] captures all that is known of an endpoint, and gives it back when it is decided again', () => {
  const pool = new EndpointPool();
  for (const record of poolRecords(fullPool().snapshot())) applyEndpointRecord({ pool }, record);
  const endpoint = pool.get(ID);
  expect(endpoint?.metrics).toEqual(EVERY_FIELD);
  expect(endpoint?.labels).toEqual(LABELS);
  for (const [key, value] of EVERY_ATTRIBUTE) {
    // `label-producer` takes these from the labels, and does so again.
    const isDerived = key === attributes.LABEL_ATTRIBUTES;
    expect(endpoint?.attribute(key), `${key.name}: ${CAPTURED_BY}`).toEqual(
      isDerived ? key.initial : value,
    );
  }
});

it('[T84] captures all of each new sample, and gives it back when it is decided again', () => {
  const lines = new CaptureLines();
  let text = '';
  lines.listen((bytes) => {
    text += new TextDecoder().decode(bytes);
  });
  for (const endpoint of fullPool().snapshot()) lines.sampled(endpoint);
  lines.drain();
  const record = recordOf(text.trimEnd());
  const sample = record.e === 'm' ? metricsOf(record.m) : undefined;
  expect(sample, SAMPLED_BY).toEqual(EVERY_FIELD);
});

it('[T22] sends a scheduler in another process what its contract has', () => {
  const updates = new PendingUpdates();
  for (const endpoint of fullPool().snapshot()) updates.onEndpointAdded(endpoint);
  updates.restart({ wantsEndpoints: true, wantsEvents: false });
  // The contract has nothing for the other attributes.
  expect(updates.take(50).endpoints, SENT_BY).toEqual([
    {
      slot: 0,
      id: ID,
      address: '10.0.0.1:8000',
      labels: { zone: 'north' },
      sampled: true,
      waitingRequests: 4,
      runningRequests: 7,
      kvCacheUsage: 0.5,
      sampleAgeMs: 30,
      cacheBlocks: 100,
      cacheBlockTokens: 16,
      loraMax: 2,
      loraRunning: ['a'],
      loraWaiting: ['b'],
    },
  ]);
});
