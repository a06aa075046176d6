import { describe, expect, it } from 'vitest';
import { makeRouted } from '../../../test/makers.ts';
import {
  sequenceBytes,
  startPreciseIndex as setUp,
  stored,
} from '../../../test/support/precise-index.ts';
import { LORA } from '../../framework/endpoint-attributes.ts';
import { precisePrefixProducer } from './precise-prefix-producer.ts';

const IDS = Array.from({ length: 16 }, (_, at) => 100 + at);
const UNIT = { tokenProcessorConfig: { blockSizeTokens: 4 } };
/** What the approximate index sees of a prompt: words are chained hashes, two a block. */
const blocks = (count: number) => ({
  count,
  blockTokens: 64,
  words: Uint32Array.from({ length: 2 * count }, (_, at) => at + 1),
});

const onHost = (hashes: readonly number[]): unknown => [
  'BlockStored',
  hashes,
  null,
  [],
  4,
  null,
  'CPU',
  null,
];
const fromGpu = (hashes: readonly number[]): unknown => ['BlockRemoved', hashes, 'GPU'];

describe('precise-prefix-cache-producer', () => {
  it('[E8] matches each endpoint by its own events', () => {
    const { add, publisher, matchIds } = setUp(UNIT);
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    publisher('tcp://10.0.0.1:5557')(stored(IDS.slice(0, 12)));
    // Another engine has other hashes and blocks of eight tokens.
    publisher('tcp://10.0.0.2:5557')(stored(IDS.slice(0, 8), { hash: 900, blockTokens: 8 }));
    const { matchedBlocks, totalBlocks, blockTokens } = matchIds([...IDS, 1]);
    expect([totalBlocks, blockTokens]).toEqual([4, 4]);
    expect([matchedBlocks(a), matchedBlocks(b)]).toEqual([3, 2]);
  });

  it('connects where labels, ranks and ports say, and ends the connection of an endpoint that leaves', () => {
    const { add, sockets, index } = setUp({
      kvEventsConfig: { podDiscoveryConfig: { socketPort: 6000, replaySocketPort: 7000 } },
    });
    add('10.0.0.1');
    const rank = add('pod-a-rank-3');
    add('10.0.0.2', { labels: { 'pointsman.dev/kv-events': '6100' } });
    add('10.0.0.3', { labels: { 'pointsman.dev/kv-events': 'tcp://10.9.9.9:1' } });
    expect(sockets.map(({ address }) => address)).toEqual([
      'tcp://10.0.0.1:6000',
      'tcp://pod-a-rank-3:6003',
      'tcp://10.0.0.2:6100',
      'tcp://10.9.9.9:1',
    ]);
    sockets[1]?.onConnected?.();
    expect(sockets[4]).toMatchObject({ kind: 'dealer', address: 'tcp://pod-a-rank-3:7003' });
    expect(sockets[4]?.sent).toEqual([[new Uint8Array(0), sequenceBytes(0)]]);
    index.onEndpointRemoved(rank);
    expect(sockets.map(({ closed }) => closed)).toEqual([false, true, false, false, true]);
    index.stop();
    expect(sockets.every(({ closed }) => closed)).toBe(true);
  });

  it('takes publishers that connect to it by the address in their topic', () => {
    const { add, sockets, publisher, matchIds } = setUp({
      ...UNIT,
      kvEventsConfig: { discoverPods: false, zmqEndpoint: 'tcp://0.0.0.0:5557' },
    });
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    expect(sockets).toMatchObject([{ address: 'tcp://0.0.0.0:5557', bind: true, topic: 'kv@' }]);
    publisher('tcp://0.0.0.0:5557', 'kv@10.0.0.2:8000@m')(stored(IDS));
    const { matchedBlocks } = matchIds(IDS);
    expect([matchedBlocks(a), matchedBlocks(b)]).toEqual([0, 4]);
  });

  it('[D381] times a look-up at all endpoints as one, and reports its time when it has ended', () => {
    const { add, publisher, matchIds, index } = setUp(UNIT);
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    publisher('tcp://10.0.0.1:5557')(stored(IDS));
    let now = 0;
    const times: number[] = [];
    index.timeLookups({ now: () => (now += 3), observe: (tookMs) => void times.push(tookMs) });
    const { matchedBlocks } = matchIds(IDS);
    for (const endpoint of [a, b, a]) matchedBlocks(endpoint);
    expect(times).toEqual([]);
    index.onRouted(makeRouted(a));
    // The time of a request that is refused is reported with the next one.
    matchIds(IDS).matchedBlocks(a);
    matchIds(IDS);
    expect(times).toEqual([6, 3]);
  });

  it('[E9] asks a model server for the tokens of text, and waits for no more than the deadline', async () => {
    const answer = { status: 200, body: new TextEncoder().encode(JSON.stringify({ tokens: IDS })) };
    const { add, publisher, request, match, asked, clock, index } = setUp(UNIT, () => answer);
    const a = add('10.0.0.1');
    publisher('tcp://10.0.0.1:5557')(stored(IDS));
    const first = request({ model: 'm', prompt: 'hello' });
    expect([first.waits, first.isReady()]).toEqual([true, false]);
    await clock.run();
    expect(first.isReady()).toBe(true);
    expect(asked).toEqual(['http://10.0.0.1:8000/tokenize']);
    expect(match(first.request).matchedBlocks(a)).toBe(4);
    const second = request({ model: 'm', prompt: 'hello' });
    expect(second.waits).toBe(false);
    expect(match(second.request).matchedBlocks(a)).toBe(4);
    expect([...index.prompts.counts]).toEqual([['tokenizer', 2]]);
  });

  it('[E9] [E11] goes by the approximate match without tokens, and counts why', () => {
    const { add, publisher, request, match, index } = setUp(UNIT);
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    publisher('tcp://10.0.0.1:5557')(stored(IDS));
    const { request: text } = request({ prompt: 'hello' }, { prompt: blocks(10) });
    index.onRouted(makeRouted(b, { request: text }));
    const { matchedBlocks, totalBlocks } = match(text);
    expect([totalBlocks, matchedBlocks(a), matchedBlocks(b)]).toEqual([10, 0, 10]);
    expect([...index.prompts.counts]).toEqual([['no-tokenizer', 1]]);
    expect(index.matches).toEqual({ precise: 0, approximate: 1, hits: 0 });
  });

  it('[E11] takes the approximate match for an endpoint that has said nothing', () => {
    const { add, publisher, request, match, index } = setUp(UNIT);
    const [a, silent] = [add('10.0.0.1'), add('10.0.0.2')];
    publisher('tcp://10.0.0.1:5557')(stored(IDS.slice(0, 4)));
    const { request: made } = request({ prompt: IDS }, { prompt: blocks(8) });
    index.onRouted(makeRouted(silent, { request: { ...made, prompt: blocks(4) } }));
    const { matchedBlocks, totalBlocks } = match(made);
    expect([totalBlocks, matchedBlocks(a), matchedBlocks(silent)]).toEqual([4, 1, 2]);
  });

  it('[E12] keeps adapters, salts and models apart', () => {
    const { add, publisher, matchIds, request, match } = setUp(UNIT);
    const lora = [
      LORA as never,
      { running: new Set(['new']), waiting: new Set(), max: 2 },
    ] as const;
    const a = add('10.0.0.1', { attributes: [lora] });
    const publish = publisher('tcp://10.0.0.1:5557', 'kv@10.0.0.1:8000@base');
    publish(stored(IDS), stored(IDS.slice(0, 8), { hash: 50, lora: 'adapter' }));
    publish({
      type: 'BlockStored',
      block_hashes: [90, 91],
      parent_block_hash: null,
      token_ids: [...IDS].reverse().slice(0, 8),
      block_size: 4,
      medium: 'GPU',
      extra_keys: [['salt'], null],
    });
    const matched = (model: string): number => matchIds(IDS, { model }).matchedBlocks(a);
    expect(['base', 'adapter', 'new', 'other'].map(matched)).toEqual([4, 2, 0, 0]);
    const salted = (salt: string | undefined): number => {
      const body = { prompt: [...IDS].reverse(), cache_salt: salt };
      return match(request(body, { model: 'base' }).request).matchedBlocks(a);
    };
    expect([salted('salt'), salted('other'), salted(undefined)]).toEqual([2, 0, 0]);
  });

  it('counts what was just sent as held, where that is asked for, for a while', () => {
    const { add, publisher, request, match, index, clock } = setUp({
      ...UNIT,
      speculativeIndexing: true,
      speculativeTTL: '1s',
    });
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    for (const host of ['10.0.0.1', '10.0.0.2']) {
      publisher(`tcp://${host}:5557`)(stored([1, 2, 3, 4], { hash: 77 }));
    }
    const { request: sent } = request({ prompt: IDS });
    index.onRouted(makeRouted(a, { request: sent, at: clock.now() }));
    const { request: same } = request({ prompt: IDS });
    expect([match(same).matchedBlocks(a), match(same).matchedBlocks(b)]).toEqual([4, 0]);
    clock.setTimer(2000, () => undefined);
    clock.step();
    expect(match(same).matchedBlocks(a)).toBe(0);
  });

  it('weighs blocks by the tier they are in', () => {
    const { add, publisher, matchIds } = setUp(UNIT);
    const a = add('10.0.0.1');
    const publish = publisher('tcp://10.0.0.1:5557');
    publish(['BlockStored', [1, 2, 3, 4], null, IDS, 4, null, 'CPU', null]);
    expect(matchIds(IDS).matchedBlocks(a)).toBe(3);
    publish(stored(IDS.slice(0, 8)));
    expect(matchIds(IDS).matchedBlocks(a)).toBe(3);
    publish(stored(IDS));
    expect(matchIds(IDS).matchedBlocks(a)).toBe(4);
  });

  it('passes over groups of a hybrid model that keep no whole prefix', () => {
    const { add, publisher, matchIds, index } = setUp(UNIT);
    const a = add('10.0.0.1');
    const publish = publisher('tcp://10.0.0.1:5557');
    const grouped = (group: number, kind: string, hashes: readonly number[]): unknown => ({
      type: 'BlockStored',
      block_hashes: hashes,
      parent_block_hash: null,
      token_ids: IDS.slice(0, 4 * hashes.length),
      block_size: 4,
      group_idx: group,
      kv_cache_spec_kind: kind,
    });
    publish(grouped(0, 'sliding_window', [1]), grouped(1, 'full_attention', [1, 2]));
    publish(['BlockRemoved', [1], 'GPU', 0]);
    expect(matchIds(IDS).matchedBlocks(a)).toBe(2);
    publish(['BlockRemoved', [2], 'GPU', 1]);
    expect(matchIds(IDS).matchedBlocks(a)).toBe(1);
    expect(index.events(a)?.stats.skipped).toBe(2);
  });

  it.each([
    ['the usual weights', undefined, [4, 1]],
    ['an accelerator that weighs less', [0.5, 0.8], [2, 1]],
    ['a host that weighs more', [1, 1.5], [4, 3]],
    ['an accelerator without weight', [0, 1], [0, 2]],
  ])('[D431] weighs blocks by the best of their tiers: %s', (_what, weights, wanted) => {
    const kvCacheBackendConfigs = ['gpu', 'cpu'].map((name, at) => ({
      name,
      weight: weights?.[at],
    }));
    const { add, publisher, matchIds } = setUp({
      ...UNIT,
      indexerConfig: weights && { kvCacheBackendConfigs },
    });
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    publisher('tcp://10.0.0.1:5557')(stored(IDS));
    publisher('tcp://10.0.0.2:5557')(stored(IDS.slice(0, 8)), onHost([1, 2]), fromGpu([1, 2]));
    const { matchedBlocks } = matchIds(IDS);
    expect([matchedBlocks(a), matchedBlocks(b)]).toEqual(wanted);
  });

  it('[D432] reports what an endpoint holds, and what of it in the memory of its host', () => {
    const { add, publisher, matchIds } = setUp(UNIT);
    const [a, b, c] = [add('10.0.0.1'), add('10.0.0.2'), add('10.0.0.3')];
    publisher('tcp://10.0.0.1:5557')(stored(IDS), onHost([1, 2]));
    publisher('tcp://10.0.0.2:5557')(stored(IDS), onHost([2, 3]), fromGpu([4]));
    const match = matchIds(IDS);
    expect([a, b, c].map((endpoint) => match.heldBlocks?.(endpoint))).toEqual([
      { inAnyTier: 4, onHost: 2 },
      { inAnyTier: 3, onHost: 0 },
      undefined,
    ]);
  });

  it('refuses parameters of the wrong kind, and takes those of the published guides', () => {
    const { config } = precisePrefixProducer;
    const pool = { indexerConfig: { tokenizersPoolConfig: {} } };
    expect(() => config.parse(pool)).toThrow('list a token-producer');
    expect(() => config.parse({ speculativeTTL: 'soon' })).toThrow(/duration/);
    const guide = {
      tokenProcessorConfig: { blockSize: 64, hashSeed: '42' },
      kvEventsConfig: {
        topicFilter: 'kv@',
        concurrency: 32,
        discoverPods: true,
        podDiscoveryConfig: { socketPort: 5557, replaySocketPort: 5558 },
      },
      indexerConfig: {
        kvBlockIndexConfig: { enableMetrics: true, metricsLoggingInterval: '60s' },
        kvCacheBackendConfigs: [{ name: 'gpu', weight: 1 }],
      },
      speculativeIndexing: true,
    };
    expect(config.parse(guide)).toMatchObject({ blockTokens: 64, speculative: true });
  });
});
