import type { Endpoint } from '../../framework/endpoint.ts';
import { prefixMatchKey } from '../../framework/keys.ts';
import type { DataSource, Observer } from '../../framework/plugin.ts';

/** A data source that keeps a prefix index and can say how much is in it. */
export interface PrefixIndex {
  /** The producer's name in the configuration. */
  readonly name: string;
  /** Blocks held for the endpoint. */
  size(endpoint: Endpoint): number;
}

const KEY_PREFIX = prefixMatchKey('').name;

/** The prefix indexes among a picker's observers: whatever provides a prefix match and has a size. */
export function prefixIndexes(observers: readonly Observer[]): readonly PrefixIndex[] {
  return observers.flatMap((observer) => {
    const source: Partial<DataSource> = observer;
    const key = source.facts?.find(({ key: { name } }) => name.startsWith(KEY_PREFIX))?.key.name;
    if (key === undefined || !hasSize(observer)) return [];
    return [{ name: key.slice(KEY_PREFIX.length), size: (endpoint) => observer.size(endpoint) }];
  });
}

function hasSize(observer: object): observer is { size(endpoint: Endpoint): number } {
  return 'size' in observer && typeof observer.size === 'function';
}
