import { describe, expect, test } from 'vitest';
import {
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
} from '../../../test/makers.ts';
import type { MediaMatch } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { DataSource } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { mediaItems } from '../../openai/prompts/media-items.ts';
import type { MediaCounts } from '../../plugins/producers/media-counts.ts';
import { mediaCacheProducer } from './media-cache-producer.ts';

const pool = makePool([{}, {}, {}]);
const [first, second, third] = pool as readonly [Endpoint, Endpoint, Endpoint];

function start(parameters: object = {}): DataSource {
  const writer = { snapshot: () => pool, observe: () => undefined, set: () => undefined };
  const config = mediaCacheProducer.config.parse(parameters);
  return mediaCacheProducer.start(config, { name: 'mm', pool: writer, runtime: makeRuntime() });
}

function bodyWith(...urls: readonly string[]): Uint8Array {
  const content = urls.map((url) => ({ type: 'image_url', image_url: { url } }));
  return Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
}

/** A request with these images, prepared in two pieces. */
function prepared(source: DataSource, ...urls: readonly string[]): InferenceRequest {
  const request = makeRequest({ mediaItems: urls.length });
  const body = bodyWith(...urls);
  const pieces = [body.subarray(0, 30), body.subarray(30)];
  expect(source.prepare?.(request, pieces, () => undefined)).toBe(false);
  return request;
}

function matched(source: DataSource, request: InferenceRequest): readonly number[] {
  const match = source.facts?.[0]?.compute(pool, makeContext({ request })) as MediaMatch;
  return pool.map((endpoint) => match.matchedItems(endpoint));
}

describe('mm-embeddings-cache-producer', () => {
  test('[D69] remembers which media went to which endpoint', () => {
    const source = start();
    source.onRouted?.(makeRouted(second, { request: prepared(source, 'a', 'b') }));
    expect(matched(source, prepared(source, 'b', 'c'))).toEqual([0, 1, 0]);
    expect(matched(source, makeRequest())).toEqual([0, 0, 0]);
    source.onEndpointRemoved?.(second);
    expect(matched(source, prepared(source, 'b'))).toEqual([0, 0, 0]);
  });

  test('[D69] also remembers where the encode profile sends them', () => {
    const source = start({ encodeProfile: 'media' });
    const request = prepared(source, 'a');
    const picked = (profile: string, endpoint: Endpoint) =>
      ({ kind: 'picked', profile, targets: [{ endpoint, score: 1 }] }) as const;
    const profiles = [picked('decode', first), picked('media', third)];
    const decision: Decision = { primary: picked('decode', first), profiles, headers: new Map() };
    expect([...(source.requestHeaders?.(decision, pool, makeContext({ request })) ?? [])]).toEqual(
      [],
    );
    source.onRouted?.(makeRouted(first, { request }));
    expect(matched(source, prepared(source, 'a'))).toEqual([1, 0, 1]);
  });

  test('[D154] counts look-ups once a decision, before its media are remembered', () => {
    const source = start() as DataSource & { readonly counts: MediaCounts };
    const send = (...urls: readonly string[]): void => {
      const request = prepared(source, ...urls);
      const picked = { kind: 'picked', profile: 'p', targets: [{ endpoint: first, score: 1 }] };
      const decision = { primary: picked, profiles: [picked], headers: new Map() } as never;
      source.requestHeaders?.(decision, pool, makeContext({ request }));
      source.onRouted?.(makeRouted(first, { request }));
    };
    send('a', 'b');
    expect(source.counts.hits.size).toBe(0);
    send('a', 'c');
    expect([...source.counts.queries]).toEqual([['image', 4]]);
    expect([...source.counts.hits]).toEqual([[first.id, new Map([['image', 1]])]]);
    // Two decisions of three endpoints each: one had half of the items.
    expect([source.counts.shares[0], source.counts.shares[5]]).toEqual([5, 1]);
  });

  test('[D69] forgets the items that were sent least recently: 2 MiB an item', () => {
    const source = start({ cacheSizeInMBPerServer: 4 });
    for (const url of ['a', 'b', 'a', 'c']) {
      source.onRouted?.(makeRouted(first, { request: prepared(source, url) }));
    }
    expect(matched(source, prepared(source, 'a', 'b', 'c'))[0]).toBe(2);
    expect(matched(source, prepared(source, 'b'))[0]).toBe(0);
  });
});

describe('media of a request', () => {
  const read = (value: unknown): string =>
    mediaItems([Buffer.from(JSON.stringify(value))])
      .map(({ source, modality }) => `${modality}:${source}`)
      .join(' ');
  const content = (...parts: readonly unknown[]): unknown => ({ messages: [{ content: parts }] });

  test.each<[unknown, string]>([
    [
      content({ type: 'image_url', image_url: { url: 'u' } }, { type: 'text', text: 't' }),
      'image:u',
    ],
    [content({ type: 'input_audio', input_audio: { data: 'd' } }), 'audio:d'],
    [content({ type: 'video_url', video_url: { url: 'v' } }), 'video:v'],
    [content({ type: 'image', source: { type: 'base64', data: 'd' } }), 'image:d'],
    [{ input: [{ content: [{ type: 'input_image', image_url: 'u' }] }] }, 'image:u'],
    [content({ image_url: { url: 'u' } }, { image_url: { url: 'u' } }), 'image:u'],
    [{ messages: [{ content: 'text' }, null, 7] }, ''],
    [[], ''],
  ])('[D69] %j has %j', (body, items) => {
    expect(read(body)).toBe(items);
  });

  test('[D69] are none of a body that is no JSON', () => {
    expect(mediaItems([Buffer.from('{')])).toEqual([]);
    expect(mediaItems([])).toEqual([]);
  });
});
