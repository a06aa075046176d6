import { z } from 'zod';
import { type MediaMatch, mediaMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import {
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
  type Producer,
} from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Decision, SchedulingContext } from '../../framework/scheduling.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { mediaItems } from '../../openai/prompts/media-items.ts';
import { MediaCounts } from '../../plugins/producers/media-counts.ts';

const CACHE_MIB_DEFAULT = 4096;
/** What one item is taken to occupy in the encoder cache of a server. */
const ITEM_MIB = 2;

interface MediaCacheConfig {
  readonly cacheSizeInMBPerServer: number;
  readonly encodeProfile: string;
}

const config: z.ZodType<MediaCacheConfig> = z.lazy(() =>
  z.strictObject({
    cacheSizeInMBPerServer: z
      .int()
      .default(CACHE_MIB_DEFAULT)
      .transform((mebibytes) => (mebibytes > 0 ? mebibytes : CACHE_MIB_DEFAULT)),
    encodeProfile: z
      .string()
      .optional()
      .transform((name) => name || 'encode'),
  }),
);

/**
 * Remembers which images, videos and sounds were sent to which endpoint, whose encoder cache may
 * hold them. The items sent to an endpoint least recently are forgotten first.
 */
export const mediaCacheProducer: DataSourceDefinition = defineDataSource({
  type: 'mm-embeddings-cache-producer',
  config,
  uncaptured: 'which images, videos and sounds requests have',
  provides: (_config, name) => [mediaMatchKey(name)],
  start: (parsed, host) => new MediaCache(parsed, host),
});

/** An item of a request: its hash, and what it is. */
type Item = readonly [hash: string, modality: string];

class MediaCache implements Producer {
  readonly facts: Producer['facts'];
  readonly counts: MediaCounts;
  readonly #encodeProfile: string;
  readonly #capacity: number;
  readonly #hash: KeyedHash;
  /** By endpoint, the items sent there, in the order of last use. */
  readonly #sent = new Map<EndpointId, Set<string>>();
  readonly #items = new WeakMap<InferenceRequest, readonly Item[]>();
  /** Where the media of a request are encoded, from its decision until it is routed. */
  readonly #encoders = new WeakMap<InferenceRequest, readonly Endpoint[]>();

  constructor(
    { cacheSizeInMBPerServer, encodeProfile }: MediaCacheConfig,
    { name, runtime: { secret = 0 } }: DataSourceHost,
  ) {
    this.#encodeProfile = encodeProfile;
    this.#capacity = Math.max(1, Math.floor(cacheSizeInMBPerServer / ITEM_MIB));
    this.#hash = new KeyedHash(secret);
    this.counts = new MediaCounts(name);
    const compute = (_endpoints: readonly Endpoint[], context: SchedulingContext): MediaMatch =>
      this.#matchOf(context.request);
    this.facts = [{ key: mediaMatchKey(name), compute }];
  }

  /** Reads the media, and nothing has to be waited for. */
  prepare(request: InferenceRequest, body: readonly Uint8Array[]): boolean {
    if ((request.mediaItems ?? 0) === 0) return false;
    const items = mediaItems(body).map(
      ({ source, modality }): Item => [this.#hash.bounded(source), modality],
    );
    if (items.length > 0) this.#items.set(request, items);
    return false;
  }

  /** Adds no header: only here a source sees where another profile sends the media. */
  requestHeaders(
    { profiles }: Decision,
    endpoints: readonly Endpoint[],
    { request }: SchedulingContext,
  ): Iterable<readonly [string, string]> {
    const items = this.#items.get(request);
    if (items === undefined) return [];
    this.#count(items, endpoints);
    const encode = profiles.find(({ profile }) => profile === this.#encodeProfile);
    const targets = encode?.kind === 'picked' ? encode.targets : [];
    this.#encoders.set(
      request,
      targets.map(({ endpoint }) => endpoint),
    );
    return [];
  }

  onRouted({ request, endpoint }: Routed): void {
    const items = this.#items.get(request);
    if (items === undefined) return;
    const encoders = this.#encoders.get(request) ?? [];
    for (const { id } of [endpoint, ...encoders]) this.#remember(id, items);
  }

  onEndpointRemoved({ id }: Endpoint): void {
    this.#sent.delete(id);
    this.counts.hits.delete(id);
  }

  describeState(): Readonly<Record<string, unknown>> {
    const pods = [...this.#sent].map(([pod, { size }]) => ({ pod, items: size }));
    return { pods: pods.toSorted((a, b) => b.items - a.items) };
  }

  stop(): void {
    this.#sent.clear();
  }

  #matchOf(request: InferenceRequest): MediaMatch {
    const items = this.#items.get(request) ?? [];
    return {
      items: items.length,
      matchedItems: ({ id }) => {
        const sent = this.#sent.get(id);
        return sent === undefined ? 0 : items.filter(([hash]) => sent.has(hash)).length;
      },
    };
  }

  #count(items: readonly Item[], endpoints: readonly Endpoint[]): void {
    for (const [, modality] of items) this.counts.query(modality);
    for (const { id } of endpoints) {
      const sent = this.#sent.get(id);
      const found = items.filter(([hash]) => sent?.has(hash));
      for (const [, modality] of found) this.counts.hit(id, modality);
      this.counts.share(found.length / items.length);
    }
  }

  #remember(id: EndpointId, items: readonly Item[]): void {
    const sent = this.#sent.get(id) ?? new Set<string>();
    this.#sent.set(id, sent);
    for (const [hash] of items) {
      sent.delete(hash);
      sent.add(hash);
    }
    for (const oldest of sent) {
      if (sent.size <= this.#capacity) break;
      sent.delete(oldest);
    }
  }
}
