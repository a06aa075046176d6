import type { EndpointId } from '../../framework/endpoint.ts';

/** Look-ups of one endpoint are counted by tenths of the items that were found, rounded up. */
const TENTHS = 10;

/** What look-ups of images, videos and sounds have found, for metrics. */
export class MediaCounts {
  /** The name of the plugin that looks them up. */
  readonly plugin: string;
  /** Items by modality. */
  readonly queries: Map<string, number> = new Map();
  /** Items that an endpoint may hold, by endpoint and modality. */
  readonly hits: Map<EndpointId, Map<string, number>> = new Map();
  /** Look-ups by the share of the items that an endpoint may hold: index 3 for up to 0.3. */
  readonly shares: Float64Array = new Float64Array(TENTHS + 1);
  shareSum = 0;

  constructor(plugin: string) {
    this.plugin = plugin;
  }

  query(modality: string): void {
    increment(this.queries, modality);
  }

  hit(id: EndpointId, modality: string): void {
    let hits = this.hits.get(id);
    if (hits === undefined) {
      hits = new Map();
      this.hits.set(id, hits);
    }
    increment(hits, modality);
  }

  /** One endpoint may hold this share of the items, 0 to 1. */
  share(value: number): void {
    const index = Math.ceil(value * TENTHS - 1e-9);
    this.shares[index] = (this.shares[index] ?? 0) + 1;
    this.shareSum += value;
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
