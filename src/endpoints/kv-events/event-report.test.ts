import { describe, expect, it } from 'vitest';
import { startPreciseIndex, stored } from '../../../test/support/precise-index.ts';
import { describeEvents, eventReport } from './event-report.ts';

const IDS = Array.from({ length: 16 }, (_, at) => 100 + at);
const UNIT = { tokenProcessorConfig: { blockSizeTokens: 4 } };

describe('the report on KV events', () => {
  it('[V462] counts prompts without tokens by the reason, and logs a tokenizer once a minute', async () => {
    const failing = () => ({ status: 500, body: new Uint8Array() });
    const { add, publisher, request, clock, index, lines } = startPreciseIndex(UNIT, failing);
    const endpoint = add('10.0.0.1');
    request({ prompt: 'before any event' });
    publisher('tcp://10.0.0.1:5557')(stored(IDS));
    for (const prompt of ['one', 'two', 'three']) request({ prompt });
    request({ prompt: IDS });
    await clock.run();
    const { prompts } = eventReport([index], [endpoint]) ?? {};
    expect(Object.fromEntries(prompts ?? [])).toEqual({ 'no-events': 1, failed: 3, body: 1 });
    const reason = 'it answered with status 500';
    expect(lines).toEqual([`http://${endpoint.address}/tokenize ${reason}`]);
  });

  it('[D125] counts blocks, removals, look-ups and what was left out', () => {
    const { add, publisher, matchIds, index } = startPreciseIndex(UNIT);
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    const publish = publisher('tcp://10.0.0.1:5557');
    publish(stored(IDS), stored(IDS.slice(0, 8)));
    publisher('tcp://10.0.0.2:5557')(stored(IDS.slice(0, 4)));
    // Two blocks with a second copy, one without, and one that is unknown.
    publish(['BlockRemoved', [1, 2, 3, 77], 'GPU']);
    publish(['BlockRemoved', [1], 'GPU', 5], ['BlockStored', [9], 8, [1, 2, 3, 4], 4]);
    const { matchedBlocks } = matchIds(IDS);
    expect([matchedBlocks(b), matchedBlocks(a)]).toEqual([1, 2]);
    matchIds([1, 2, 3, 4]);
    const report = eventReport([{}, index], [a, b]);
    expect(report).toMatchObject({
      admissions: 7,
      evictions: 3,
      removalsSuppressed: 2,
      removalsForwarded: 2,
      lookups: 2,
      lookupHits: 2,
      subscribers: 2,
      held: 0,
      storesSkipped: [{ cacheKind: 'unknown', reason: 'unknown_parent', count: 1 }],
      removalsSkipped: [{ cacheKind: 'unknown', reason: 'unknown_group', count: 1 }],
      endpoints: [
        { endpoint: '10.0.0.1', messages: 3 },
        { endpoint: '10.0.0.2', messages: 1 },
      ],
      streams: { batches: 4, events: 6, unnamed: 1, skipped: 1 },
    });
  });

  it('[D125] keeps the counts of endpoints that leave, and counts sockets that fail or come back', () => {
    const replay = { podDiscoveryConfig: { replaySocketPort: 7000 } };
    const { add, publisher, index, sockets } = startPreciseIndex({ kvEventsConfig: replay });
    const a = add('10.0.0.1');
    publisher('tcp://10.0.0.1:5557')(stored(IDS));
    const [events] = sockets;
    for (let times = 0; times < 3; times++) events?.onConnected?.();
    events?.onFailed?.('refused');
    sockets.at(-1)?.onFailed?.('refused');
    expect(eventReport([index], [a])?.endpoints).toEqual([
      {
        endpoint: '10.0.0.1',
        messages: 1,
        reconnections: 2,
        socketFailures: { connect: 1, 'replay-connect': 1 },
      },
    ]);
    index.onEndpointRemoved(a);
    expect(eventReport([index], [])).toMatchObject({
      endpoints: [],
      subscribers: 0,
      admissions: 4,
      streams: { batches: 1 },
    });
  });

  it('[D125] is none without a plugin that takes events', () => {
    expect(eventReport([{}], [])).toBeUndefined();
  });

  it('[D126] says of an endpoint where its events come from, what is known, and what is wrong', () => {
    const { add, publisher, index } = startPreciseIndex(UNIT);
    const a = add('10.0.0.1');
    expect(describeEvents([{}], a)).toBeUndefined();
    const publish = publisher('tcp://10.0.0.1:5557', 'kv@p@m', 4);
    for (let at = 0; at < 9; at++) publish(['BlockStored', [50 + at], 40, [1, 2, 3, 4], 4]);
    expect(describeEvents([index], a)).toMatchObject([
      {
        address: 'tcp://10.0.0.1:5557',
        known: 'partial',
        model: 'm',
        blockTokens: 4,
        blocks: 0,
        messages: 9,
        unnamed: 9,
        unusableEvents: { 'unknown-parent': 9 },
        problem: { reason: 'unknown-parent', advice: expect.stringContaining('replaySocketPort') },
      },
    ]);
  });
});
