import type { KubeObject } from './informer.ts';

/** What of a Node matters here. */
export interface Node extends KubeObject {
  readonly labels: ReadonlyMap<string, string>;
}

/** A node with the labels named, of those that it has. */
export function leanNode(
  { metadata = {} }: KubeObject & { readonly metadata?: { readonly labels?: object | undefined } },
  names: readonly string[],
): Node {
  const { name, resourceVersion } = metadata;
  const labels = Object.entries(metadata.labels ?? {}) as readonly [string, string][];
  return {
    metadata: { name, resourceVersion },
    labels: new Map(labels.filter(([label]) => names.includes(label))),
  };
}
