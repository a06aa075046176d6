import type { LoadBalancerMetadata } from './stream-event.ts';
import { WireReader } from './wire-reader.ts';

const SUBSET_NAMESPACE = 'envoy.lb.subset_hint';
const SUBSET_KEY = 'x-gateway-destination-endpoint-subset';
const SERVED_NAMESPACE = 'envoy.lb';
const DESTINATION_KEY = 'x-gateway-destination-endpoint';
const SERVED_KEY = 'x-gateway-destination-endpoint-served';

const EMPTY: Buffer = Buffer.alloc(0);

/** Reads the entries of the Metadata message ahead that concern a picker; the rest is skipped unread. */
export function decodeMetadata(reader: WireReader): LoadBalancerMetadata {
  let subset: readonly string[] | undefined;
  let served: string | undefined;
  let destination: string | undefined;
  eachEntry(reader, (namespace, struct) => {
    if (namespace === SUBSET_NAMESPACE)
      subset = endpointList(valueOf(struct, SUBSET_KEY)) ?? subset;
    else if (namespace === SERVED_NAMESPACE) {
      served = stringsOf(valueOf(struct, SERVED_KEY))?.[0] ?? served;
      destination = stringsOf(valueOf(struct, DESTINATION_KEY))?.[0] ?? destination;
    }
  });
  return { subset, served, destination };
}

/** A list of strings, or one comma-separated string as header-to-metadata rules produce. */
function endpointList(value: Buffer | undefined): readonly string[] | undefined {
  return stringsOf(value)
    ?.flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/** The entries of the message ahead, whose field 1 is a map from string to message. */
function eachEntry(reader: WireReader, take: (key: string, value: Buffer) => void): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) readEntry(reader, take);
    else reader.skip();
  }
  reader.leave(outer);
}

function readEntry(reader: WireReader, take: (key: string, value: Buffer) => void): void {
  const outer = reader.enter();
  let key = '';
  let value = EMPTY;
  for (let part = reader.next(); part !== 0; part = reader.next()) {
    if (part === 1) key = reader.text();
    else if (part === 2) value = reader.bytes();
    else reader.skip();
  }
  reader.leave(outer);
  take(key, value);
}

function valueOf(struct: Buffer, wanted: string): Buffer | undefined {
  let found: Buffer | undefined;
  const reader = new WireReader(struct);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) reader.skip();
    else
      readEntry(reader, (key, value) => {
        if (key === wanted) found = value;
      });
  }
  return found;
}

/** The strings of a google.protobuf.Value that is a string or a list; undefined for any other kind of value. */
function stringsOf(value: Buffer | undefined): readonly string[] | undefined {
  if (value === undefined) return undefined;
  let strings: string[] | undefined;
  const reader = new WireReader(value);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) strings = [reader.text()];
    else if (field === 6) strings = listOf(reader);
    else reader.skip();
  }
  return strings;
}

/** The strings in the ListValue ahead; what else is in it does not name an endpoint. */
function listOf(reader: WireReader): string[] {
  const strings: string[] = [];
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const list = reader.enter();
    for (let part = reader.next(); part !== 0; part = reader.next()) {
      if (part === 3) strings.push(reader.text());
      else reader.skip();
    }
    reader.leave(list);
  }
  reader.leave(outer);
  return strings;
}
