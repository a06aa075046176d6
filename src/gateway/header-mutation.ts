export type HeaderPair = readonly [name: string, value: string];

/** As ext_proc carries a header; the bytes may be any a field value may hold. */
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

/** Of one hop only; RFC 9110 §7.6.1, and `expect`, which is answered here. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Node's flat list of names and values as pairs, lower-case names, without the headers of one hop. */
export function endToEndHeaders(flat: readonly string[]): readonly HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = (flat[index] ?? '').toLowerCase();
    if (!HOP_HEADERS.has(name)) pairs.push([name, flat[index + 1] ?? '']);
  }
  return pairs;
}

export function toWire(pairs: readonly HeaderPair[]): readonly WireHeader[] {
  return pairs.map(([key, value]) => ({ key, raw_value: Buffer.from(value, 'latin1') }));
}

/**
 * The headers after the picker's changes: removals first, then each set header in order. As in Envoy's ext_proc, a
 * header set without an action replaces. Pseudo-headers are out of reach here.
 */
export function applyMutation(
  pairs: readonly HeaderPair[],
  { set_headers: set = [], remove_headers: removed = [] }: HeaderMutation = {},
): readonly HeaderPair[] {
  const gone = new Set(removed.map((name) => name.toLowerCase()));
  let result = pairs.filter(([name]) => !gone.has(name));
  for (const { header, append_action: action } of set) {
    const name = header?.key?.toLowerCase() ?? '';
    if (name === '' || name.startsWith(':') || HOP_HEADERS.has(name)) continue;
    const raw = header?.raw_value;
    const value = raw !== undefined && raw.length > 0 ? raw.toString('latin1') : header?.value;
    const present = result.some(([each]) => each === name);
    if (action === 'ADD_IF_ABSENT' && present) continue;
    if (action === 'OVERWRITE_IF_EXISTS' && !present) continue;
    result = [...result.filter(([each]) => each !== name), [name, value ?? '']];
  }
  return result;
}
