import type { LoadBalancerMetadata } from './stream-event.ts';
import type { WireReader } from './wire-reader.ts';

const SUBSET_NAMESPACE = 'envoy.lb.subset_hint';
const SUBSET_KEY = 'x-gateway-destination-endpoint-subset';
const SERVED_NAMESPACE = 'envoy.lb';
const DESTINATION_KEY = 'x-gateway-destination-endpoint';
const SERVED_KEY = 'x-gateway-destination-endpoint-served';

const NAMESPACES: readonly string[] = [SUBSET_NAMESPACE, SERVED_NAMESPACE];
const NO_KEYS: readonly string[] = [];
const KEYS: readonly (readonly string[])[] = [[SUBSET_KEY], [DESTINATION_KEY, SERVED_KEY]];

type Found = { -readonly [Name in keyof LoadBalancerMetadata]: LoadBalancerMetadata[Name] };

/**
 * Reads from the Metadata message ahead the entries that a picker needs, and skips the others. It
 * comes with every message and is nearly always of other filters, so it is read where it lies.
 */
export function decodeMetadata(reader: WireReader): LoadBalancerMetadata {
  const found: Found = { subset: undefined, served: undefined, destination: undefined };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) readNamespace(reader, found);
    else reader.skip();
  }
  reader.leave(outer);
  return found;
}

/** An entry of a map from the name of a filter to its Struct. */
function readNamespace(reader: WireReader, into: Found): void {
  let keys = NO_KEYS;
  const outer = reader.enter();
  for (let part = reader.next(); part !== 0; part = reader.next()) {
    // All encoders write a key before its value, so the values of other filters are skipped.
    if (part === 1) keys = KEYS[reader.textAmong(NAMESPACES)] ?? NO_KEYS;
    else if (part === 2 && keys.length > 0) readStruct(reader, keys, into);
    else reader.skip();
  }
  reader.leave(outer);
}

function readStruct(reader: WireReader, keys: readonly string[], into: Found): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) readEntry(reader, keys, into);
    else reader.skip();
  }
  reader.leave(outer);
}

/** An entry of a map from a key to a Value. */
function readEntry(reader: WireReader, keys: readonly string[], into: Found): void {
  let key: string | undefined;
  const outer = reader.enter();
  for (let part = reader.next(); part !== 0; part = reader.next()) {
    if (part === 1) key = keys[reader.textAmong(keys)];
    else if (part === 2 && key !== undefined) take(key, textsIn(reader), into);
    else reader.skip();
  }
  reader.leave(outer);
}

function take(key: string, texts: Texts, into: Found): void {
  if (key === SUBSET_KEY) into.subset = endpointsOf(texts) ?? into.subset;
  else if (key === SERVED_KEY) into.served = firstOf(texts) ?? into.served;
  else into.destination = firstOf(texts) ?? into.destination;
}

/** The string of a google.protobuf.Value, or those of a list; undefined for other kinds. */
type Texts = string | readonly string[] | undefined;

/**
 * A list of strings, or one comma-separated string as header-to-metadata rules write it: such a
 * rule writes an empty one where a header is empty, which names no subset.
 */
function endpointsOf(texts: Texts): readonly string[] | undefined {
  if (texts === '') return undefined;
  const list = typeof texts === 'string' ? [texts] : texts;
  return list
    ?.flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

function firstOf(texts: Texts): string | undefined {
  return typeof texts === 'string' ? texts : texts?.[0];
}

/** Reads the Value ahead. */
function textsIn(reader: WireReader): Texts {
  let texts: Texts;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) texts = reader.text();
    else if (field === 6) texts = listIn(reader);
    else reader.skip();
  }
  reader.leave(outer);
  return texts;
}

/** The strings in the ListValue ahead; other elements are skipped. */
function listIn(reader: WireReader): string[] {
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
