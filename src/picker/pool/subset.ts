import type { Endpoint } from '../../framework/endpoint.ts';

/**
 * The endpoints that a subset hint allows, in pool order. An entry is `host`, which allows all its
 * ports, or `host:port`; an IPv6 host is written `[v6]:port`, `[v6]` or bare `v6`. Undefined allows
 * all; an empty list allows none.
 */
export function subsetOf(
  endpoints: readonly Endpoint[],
  subset: readonly string[] | undefined,
): readonly Endpoint[] {
  if (subset === undefined) return endpoints;
  const allowed = new Set(subset.map((entry) => withBrackets(entry.trim().toLowerCase())));
  // Gateways name addresses with ports: cutting off those of the whole pool would cost more than
  // the rest.
  const namesHosts = [...allowed].some(isHost);
  return endpoints.filter(({ address }) => {
    const lower = address.toLowerCase();
    return allowed.has(lower) || (namesHosts && allowed.has(withoutPort(lower)));
  });
}

/** Whether an entry, with its brackets, has no port. */
function isHost(entry: string): boolean {
  return entry.endsWith(']') || !entry.includes(':');
}

/** Whether two lists of candidates of one pool are the same. */
export function sameEndpoints(a: readonly Endpoint[], b: readonly Endpoint[]): boolean {
  return (
    a === b || (a.length === b.length && a.every(({ slot }, index) => b[index]?.slot === slot))
  );
}

/** An address without its port, if it has one; an IPv6 host keeps its brackets. */
function withoutPort(address: string): string {
  const colon = address.lastIndexOf(':');
  return colon > address.lastIndexOf(']') ? address.slice(0, colon) : address;
}

function withBrackets(entry: string): string {
  const bareV6 = !entry.startsWith('[') && entry.indexOf(':') !== entry.lastIndexOf(':');
  return bareV6 ? `[${entry}]` : entry;
}
