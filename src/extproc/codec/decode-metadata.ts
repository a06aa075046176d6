import type { LoadBalancerMetadata } from './stream-event.ts';
import { WireReader } from './wire-reader.ts';

// Compared as bytes: metadata comes with every message, nearly always of other filters.
const SUBSET_NAMESPACE = Buffer.from('envoy.lb.subset_hint');
const SUBSET_KEY = Buffer.from('x-gateway-destination-endpoint-subset');
const SERVED_NAMESPACE = Buffer.from('envoy.lb');
const DESTINATION_KEY = Buffer.from('x-gateway-destination-endpoint');
const SERVED_KEY = Buffer.from('x-gateway-destination-endpoint-served');

const EMPTY: Buffer = Buffer.alloc(0);

/** Reads from the Metadata message ahead the entries that a picker needs, and skips the others. */
export function decodeMetadata(reader: WireReader): LoadBalancerMetadata {
  let subset: readonly string[] | undefined;
  let served: string | undefined;
  let destination: string | undefined;
  const outer = reader.enter();
  readEntries(reader, (namespace, struct) => {
    if (namespace.equals(SUBSET_NAMESPACE)) {
      readEntries(new WireReader(struct), (key, value) => {
        if (key.equals(SUBSET_KEY)) subset = endpointList(value) ?? subset;
      });
    } else if (namespace.equals(SERVED_NAMESPACE)) {
      readEntries(new WireReader(struct), (key, value) => {
        if (key.equals(DESTINATION_KEY)) destination = stringsOf(value)?.[0] ?? destination;
        else if (key.equals(SERVED_KEY)) served = stringsOf(value)?.[0] ?? served;
      });
    }
  });
  reader.leave(outer);
  return { subset, served, destination };
}

/** Reads a list of strings, or one comma-separated string as header-to-metadata rules write it. */
function endpointList(value: Buffer): readonly string[] | undefined {
  return stringsOf(value)
    ?.flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/** Reads the entries of field 1, a map from string to message; `take` gets views of both. */
function readEntries(reader: WireReader, take: (key: Buffer, value: Buffer) => void): void {
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) readEntry(reader, take);
    else reader.skip();
  }
}

function readEntry(reader: WireReader, take: (key: Buffer, value: Buffer) => void): void {
  const outer = reader.enter();
  let key = EMPTY;
  let value = EMPTY;
  for (let part = reader.next(); part !== 0; part = reader.next()) {
    if (part === 1) key = reader.bytes();
    else if (part === 2) value = reader.bytes();
    else reader.skip();
  }
  reader.leave(outer);
  take(key, value);
}

/** The strings of a google.protobuf.Value: of a string or a list; undefined for other kinds. */
function stringsOf(value: Buffer): readonly string[] | undefined {
  let strings: string[] | undefined;
  const reader = new WireReader(value);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) strings = [reader.text()];
    else if (field === 6) strings = listOf(reader);
    else reader.skip();
  }
  return strings;
}

/** The strings in the ListValue ahead; other elements are skipped. */
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
