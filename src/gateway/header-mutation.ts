import { namedByConnection, SINGLE_HOP } from '../runtime/network/single-hop.ts';

export type HeaderPair = readonly [name: string, value: string];

/** A header in ext_proc; `raw_value` is the value's bytes. */
export interface WireHeader {
  readonly key?: string;
  readonly value?: string;
  readonly raw_value?: Buffer;
}

export interface HeaderMutation {
  readonly set_headers?: readonly {
    readonly header?: WireHeader;
    readonly append_action?: string;
  }[];
  readonly remove_headers?: readonly string[];
}

/** Pairs with lower-case names from Node's flat list, without the headers of a single hop. */
export function endToEndHeaders(flat: readonly string[]): readonly HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    pairs.push([(flat[index] ?? '').toLowerCase(), flat[index + 1] ?? '']);
  }
  const connection = pairs.flatMap(([name, value]) => (name === 'connection' ? [value] : []));
  const named = namedByConnection(connection);
  return pairs.filter(([name]) => !SINGLE_HOP.has(name) && !named.has(name));
}

/** Headers as ext_proc has them: values are bytes. */
export function toWire(pairs: readonly HeaderPair[]): readonly WireHeader[] {
  return pairs.map(([key, value]) => ({ key, raw_value: Buffer.from(value, 'latin1') }));
}

/**
 * Removals first, then each set header in order. As in Envoy, one without `append_action` replaces.
 * Pseudo-headers cannot be changed.
 */
export function applyMutation(
  pairs: readonly HeaderPair[],
  { set_headers: set = [], remove_headers: removed = [] }: HeaderMutation = {},
): readonly HeaderPair[] {
  const removedNames = new Set(removed.map((name) => name.toLowerCase()));
  let result = pairs.filter(([name]) => !removedNames.has(name));
  for (const { header, append_action: action } of set) {
    const name = header?.key?.toLowerCase() ?? '';
    if (name === '' || name.startsWith(':') || SINGLE_HOP.has(name)) continue;
    const raw = header?.raw_value;
    const value = raw !== undefined && raw.length > 0 ? raw.toString('latin1') : header?.value;
    const present = result.some(([each]) => each === name);
    if (action === 'ADD_IF_ABSENT' && present) continue;
    if (action === 'OVERWRITE_IF_EXISTS' && !present) continue;
    result = [...result.filter(([each]) => each !== name), [name, value ?? '']];
  }
  return result;
}
