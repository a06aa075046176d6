import { describe, expect, it } from 'vitest';
import { makeRouted } from '../../../test/makers.ts';
import { startPreciseIndex, stored } from '../../../test/support/precise-index.ts';

/** What publishers of KV events say that differs from vLLM of today, each as it is on the wire. */

const IDS = Array.from({ length: 16 }, (_, at) => 100 + at);
const UNIT = { tokenProcessorConfig: { blockSizeTokens: 4 } };
const A = 'tcp://10.0.0.1:5557';
const HASHES = [0xf123_4567_89ab_cdefn, 2n, 3n, 4n];
const U64 = 2n ** 64n;

type Fields = Readonly<Record<string, unknown>>;

const asMap = (fields: Fields = {}): Fields => ({
  type: 'BlockStored',
  block_hashes: HASHES,
  parent_block_hash: null,
  token_ids: IDS,
  block_size: 4,
  ...fields,
});

/** As an array in vLLM's order; fields that are left out at the end are not sent. */
const asArray = (fields: Fields = {}): readonly unknown[] => {
  const map = asMap(fields);
  const names = 'block_hashes parent_block_hash token_ids block_size lora_id medium lora_name';
  const values = names.split(' ').map((name) => map[name] ?? null);
  while (values.at(-1) === null) values.pop();
  return ['BlockStored', ...values];
};

const bytesOf = (hash: bigint): Uint8Array => {
  const bytes = new Uint8Array(32).fill(7);
  new DataView(bytes.buffer).setBigUint64(24, hash);
  return bytes;
};

/** The matched blocks of a prompt after these events of one endpoint. */
function matchedAfter(...events: readonly unknown[]): number {
  const { add, publisher, matchIds } = startPreciseIndex(UNIT);
  const endpoint = add('10.0.0.1');
  publisher(A)(...events);
  return matchIds(IDS).matchedBlocks(endpoint);
}

describe('KV events of other publishers', () => {
  it.each([
    ['a parent 0, in arrays', asArray({ parent_block_hash: 0, medium: 'GPU' })],
    ['a parent 0, in maps', asMap({ parent_block_hash: 0, medium: 'GPU' })],
    ['no parent, in maps', asMap({ medium: 'GPU' })],
    ['a map without the field', asMap({ parent_block_hash: undefined })],
    ['a parent of 32 zero bytes', asArray({ parent_block_hash: new Uint8Array(32) })],
    ['a parent without bytes', asArray({ parent_block_hash: new Uint8Array(0) })],
    ['an empty text', asMap({ parent_block_hash: '' })],
    ['signed hashes and no medium', asMap({ block_hashes: HASHES.map((h) => h - U64) })],
    ['bytes as hashes', asArray({ block_hashes: HASHES.map(bytesOf), parent_block_hash: 0 })],
    ['fields of tomorrow', asMap({ locality: 'LOCAL', ownership: null, session_id: 's' })],
  ])('[D120] begin a prompt with %s', (_what, event) => {
    expect(matchedAfter(event)).toBe(4);
  });

  it('[D120] continue a prompt in the next event, and take a block 0 that was stored as a parent', () => {
    const [first, rest] = [HASHES.slice(0, 1), HASHES.slice(1)];
    const begin = asArray({
      block_hashes: first,
      parent_block_hash: 0,
      token_ids: IDS.slice(0, 4),
    });
    const next = { block_hashes: rest, parent_block_hash: first[0], token_ids: IDS.slice(4) };
    expect(matchedAfter(begin, asArray(next))).toBe(4);
    const zero = stored(IDS.slice(0, 4), { hash: 0 });
    expect(matchedAfter(zero, asMap({ ...next, parent_block_hash: 0 }))).toBe(4);
    expect(matchedAfter(zero, asMap({ parent_block_hash: 0 }))).toBe(1);
  });

  it('[D120] come once a second, many prompts in a batch, with numbers from 1', () => {
    const { add, publisher, matchIds, index } = startPreciseIndex(UNIT);
    const endpoint = add('10.0.0.1');
    const publish = publisher(A, 'kv@10.0.0.1:8000@m', 1);
    const prompt = (at: number): readonly number[] => IDS.map((id) => 1000 * at + id);
    const event = (at: number): unknown =>
      asArray({
        block_hashes: HASHES.map((hash) => hash + BigInt(100 * at)),
        parent_block_hash: 0,
        token_ids: prompt(at),
      });
    publish(...Array.from({ length: 6 }, (_, at) => event(at)));
    publish(
      ...Array.from({ length: 6 }, (_, at) => event(6 + at)),
      ['AllBlocksCleared'],
      event(12),
    );
    const matched = (at: number): number => matchIds(prompt(at)).matchedBlocks(endpoint);
    expect([0, 6, 11, 12].map(matched)).toEqual([0, 0, 0, 4]);
    expect(index.events(endpoint)?.stats).toMatchObject({ messages: 2, events: 14, unnamed: 0 });
  });

  it('[D121] of offloaded blocks have neither tokens nor a size, and add copies of known ones', () => {
    const { add, publisher, matchIds } = startPreciseIndex(UNIT);
    const endpoint = add('10.0.0.1');
    const matched = (): number => matchIds(IDS).matchedBlocks(endpoint);
    const publish = publisher(A);
    const offloaded = { token_ids: [], block_size: 0, medium: 'CPU' };
    publish(asMap({ medium: 'GPU' }));
    publish(asMap({ ...offloaded, block_hashes: [99n, ...HASHES] }));
    // Larger blocks in the host's memory say nothing about those of the accelerator.
    publish(asMap({ ...offloaded, block_size: 64 }));
    publish({ type: 'BlockRemoved', block_hashes: HASHES, medium: 'GPU' });
    expect(matched()).toBe(3);
    publish({ type: 'BlockRemoved', block_hashes: HASHES, medium: 'CPU' });
    publish({ type: 'BlockRemoved', block_hashes: HASHES, medium: 'CPU' });
    expect(matched()).toBe(0);
  });

  it('[D122] keep salts and adapters apart, wherever they are', () => {
    const { add, publisher, request, match } = startPreciseIndex(UNIT);
    const endpoint = add('10.0.0.1');
    const publish = publisher(A);
    const matched = (salt?: string): number => {
      const made = request({ prompt: IDS, cache_salt: salt }).request;
      return match(made).matchedBlocks(endpoint);
    };
    const salted = (field: Fields, hash: bigint): Fields =>
      asMap({ ...field, block_hashes: HASHES.map((each) => each + hash) });
    publish(salted({ cache_salt: 'a' }, 100n), salted({ metadata: { cache_salt: 'b' } }, 200n));
    publish(salted({ lora_id: 3 }, 300n));
    expect([matched(), matched('a'), matched('b'), matched('c')]).toEqual([0, 4, 4, 0]);
    publish(salted({ lora_id: 0 }, 400n));
    expect(matched()).toBe(4);
  });

  it('[D122] of parts of a model that do not keep the whole prefix are left out', () => {
    const { add, publisher, matchIds, index } = startPreciseIndex(UNIT);
    const endpoint = add('10.0.0.1');
    const publish = publisher(A);
    const part = (component_type: string): Fields => ({ component_type, group_idx: undefined });
    publish(asMap({ ...part('swa'), block_hashes: [50n], token_ids: IDS.slice(4, 8) }));
    publish(asMap(part('full')), asMap({ ...part('mamba'), block_hashes: [HASHES[3]] }));
    publish({ type: 'BlockRemoved', block_hashes: HASHES, component_type: 'mamba' });
    expect(matchIds(IDS).matchedBlocks(endpoint)).toBe(4);
    // A window of the last blocks, with the tokens of the whole prompt.
    publish(asMap({ group_idx: 0, kv_cache_spec_kind: 'full_attention', block_hashes: [60n] }));
    expect(index.events(endpoint)?.stats.total.storesSkipped.entries()).toContainEqual({
      cacheKind: 'full_attention',
      reason: 'non_dense_block_span',
      count: 1,
    });
  });

  it.each([
    ['an address', 'kv@10.0.0.2:8000@m', 'm'],
    ['a host alone', 'kv@10.0.0.2@m', 'm'],
    ['a model with an at sign', 'kv@10.0.0.2:8000@org/m@v1', 'org/m@v1'],
  ])('[D123] find their endpoint by %s in the topic', (_what, topic, model) => {
    const bound = { discoverPods: false, zmqEndpoint: 'tcp://0.0.0.0:5557' };
    const { add, publisher, matchIds } = startPreciseIndex({ ...UNIT, kvEventsConfig: bound });
    const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
    publisher('tcp://0.0.0.0:5557', topic)(asMap());
    const { matchedBlocks } = matchIds(IDS, { model });
    expect([matchedBlocks(a), matchedBlocks(b)]).toEqual([0, 4]);
  });

  it('[D123] find it by the name of a pod or rank, and a pod that is none is logged once', () => {
    const bound = { discoverPods: false, zmqEndpoint: 'tcp://0.0.0.0:5557' };
    const { add, publisher, index, lines } = startPreciseIndex({ ...UNIT, kvEventsConfig: bound });
    const [one, rank] = [add('ns/one'), add('ns/two-rank-1')];
    add('ns/two-rank-0');
    const publish = (pod: string): void => publisher('tcp://0.0.0.0:5557', `kv@${pod}@m`)(asMap());
    publish('one');
    publish('ns/two-rank-1');
    for (let times = 0; times < 20; times++) publish('two');
    for (let times = 0; times < 5; times++) publish('late');
    expect([index.size(one), index.size(rank)]).toEqual([4, 4]);
    expect(lines).toEqual(['two']);
  });
});

describe('KV events that cannot be used', () => {
  it('[D124] are logged once an endpoint with the reason, and no longer a problem when they can', () => {
    const { add, publisher, index, lines } = startPreciseIndex(UNIT);
    const endpoint = add('10.0.0.1');
    const publish = publisher(A, 'kv@p@m', 7);
    const health = () => index.events(endpoint)?.stats.health;
    for (let at = 0; at < 20; at++) publish(asMap({ parent_block_hash: 900 + at }));
    expect(health()?.problem).toBe('unknown-parent');
    expect(health()?.unusable).toEqual(new Map([['unknown-parent', 20]]));
    expect(lines).toEqual([
      expect.stringMatching(/^10.0.0.1 10.0.0.1:8000 unknown-parent .*replay/),
    ]);
    for (let at = 0; at < 30; at++) publish(asMap());
    expect(health()?.problem).toBeUndefined();
    for (let at = 0; at < 200; at++) publish(asMap({ parent_block_hash: 900 + at }));
    expect([health()?.problem, lines.length]).toEqual(['unknown-parent', 1]);
  });

  it.each([
    ['no-tokens', { token_ids: [[1, 2]], block_size: 1 }],
    ['attention-kind', { kv_cache_spec_kind: 'mamba', group_idx: 0 }],
  ])('[D124] say %s', (reason, fields) => {
    const { add, publisher, lines } = startPreciseIndex(UNIT);
    add('10.0.0.1');
    const publish = publisher(A);
    for (let at = 0; at < 10; at++) publish(asMap(fields));
    expect(lines).toEqual([expect.stringContaining(reason)]);
  });

  it('[D124] say that the index is full', () => {
    const small = { kvBlockIndexConfig: { inMemoryConfig: { size: 3 } } };
    const { add, publisher, lines } = startPreciseIndex({ ...UNIT, indexerConfig: small });
    add('10.0.0.1');
    const publish = publisher(A);
    for (let at = 0; at < 10; at++) publish(stored(IDS, { hash: 10 * at + 1 }));
    expect(lines).toEqual([expect.stringContaining('no-room')]);
  });

  it('[D124] are missed where requests end and none has come', () => {
    const { add, index, lines, publisher } = startPreciseIndex(UNIT);
    const endpoint = add('10.0.0.1');
    const prompt = { count: 2, blockTokens: 64, words: Uint32Array.of(1, 2, 3, 4) };
    const end = (count: number): void => {
      const routed = makeRouted(endpoint, { request: { ...makeRouted(endpoint).request, prompt } });
      index.onRouted(routed);
      for (let at = 0; at < count; at++) index.onDone(routed, 1, 'completed', undefined);
    };
    end(19);
    expect(lines).toEqual([]);
    end(10);
    expect(lines).toEqual([expect.stringMatching(/no-events .*publish/)]);
    publisher(A)(asMap());
    expect(index.events(endpoint)?.stats.health.problem).toBeUndefined();
    end(50);
    expect(lines).toHaveLength(1);
  });
});
