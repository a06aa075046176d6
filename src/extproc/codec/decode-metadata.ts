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
        if (key.equals(DESTINATION_KEY)) destination = firstText(value) ?? destination;
        else if (key.equals(SERVED_KEY)) served = firstText(value) ?? served;
      });
    }
  });
  reader.leave(outer);
  return { subset, served, destination };
}

/**
 * Reads a list of strings, or one comma-separated string as header-to-metadata rules write it: such
 * a rule writes an empty one where a header is empty, which names no subset.
 */
function endpointList(value: Buffer): readonly string[] | undefined {
  const read = textsOf(value);
  if (read === '') return undefined;
  const texts = typeof read === 'string' ? [read] : read;
  return texts
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

/** The first string of a google.protobuf.Value. */
function firstText(value: Buffer): string | undefined {
  const read = textsOf(value);
  return typeof read === 'string' ? read : read?.[0];
}

/** The string of a google.protobuf.Value, or those of a list; undefined for other kinds. */
function textsOf(value: Buffer): string | readonly string[] | undefined {
  let texts: string | readonly string[] | undefined;
  const reader = new WireReader(value);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) texts = reader.text();
    else if (field === 6) texts = listOf(reader);
    else reader.skip();
  }
  return texts;
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
