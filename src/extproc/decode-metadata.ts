import type { LoadBalancerMetadata } from './stream-event.ts';
import { WireReader } from './wire-reader.ts';

const SUBSET_NAMESPACE = 'envoy.lb.subset_hint';
const SUBSET_KEY = 'x-gateway-destination-endpoint-subset';
const SERVED_NAMESPACE = 'envoy.lb';
const SERVED_KEY = 'x-gateway-destination-endpoint-served';

/** Depth of lists and structs followed; ours are one deep. */
const DEPTH_MAX = 2;

/** Reads the two entries of a Metadata message that concern a picker; the rest is skipped unread. */
export function decodeMetadata(bytes: Buffer): LoadBalancerMetadata {
  let subset: readonly string[] | undefined;
  let served: string | undefined;
  for (const [namespace, struct] of mapEntries(bytes)) {
    if (namespace === SUBSET_NAMESPACE) subset = endpointList(struct) ?? subset;
    if (namespace === SERVED_NAMESPACE)
      served = stringsOf(valueOf(struct, SERVED_KEY))[0] ?? served;
  }
  return { subset, served };
}

/** A list of strings, or one comma-separated string as header-to-metadata rules produce. */
function endpointList(struct: Buffer): readonly string[] | undefined {
  const value = valueOf(struct, SUBSET_KEY);
  if (value === undefined) return undefined;
  return stringsOf(value)
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/** The entries of a message whose field 1 is a map from string to message. */
function* mapEntries(bytes: Buffer): Generator<readonly [string, Buffer]> {
  const reader = new WireReader(bytes);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const entry = new WireReader(reader.bytes());
    let key = '';
    let value: Buffer = Buffer.alloc(0);
    for (let part = entry.next(); part !== 0; part = entry.next()) {
      if (part === 1) key = entry.text();
      else if (part === 2) value = entry.bytes();
      else entry.skip();
    }
    yield [key, value];
  }
}

function valueOf(struct: Buffer, wanted: string): Buffer | undefined {
  let found: Buffer | undefined;
  for (const [key, value] of mapEntries(struct)) if (key === wanted) found = value;
  return found;
}

/** The strings of a google.protobuf.Value that is a string or a list of them; anything else has none. */
function stringsOf(value: Buffer | undefined, depth = 0): readonly string[] {
  if (value === undefined || depth > DEPTH_MAX) return [];
  const strings: string[] = [];
  const reader = new WireReader(value);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) strings.push(reader.text());
    else if (field === 6) {
      const list = new WireReader(reader.bytes());
      for (let item = list.next(); item !== 0; item = list.next()) {
        if (item === 1) strings.push(...stringsOf(list.bytes(), depth + 1));
        else list.skip();
      }
    } else reader.skip();
  }
  return strings;
}
