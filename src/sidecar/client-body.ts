import { RoutingError } from '../framework/error.ts';
import { JsonScanner } from '../openai/json-scanner.ts';
import type { JsonHandler } from '../openai/json-text.ts';
import { Refusal } from './refusal.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Bounds the memory of the parsed body: an empty array takes 2 bytes of text and 16 of memory. */
const CONTAINERS_MAX = 500_000;
/** They tell an engine which server to fetch KV or embeddings from: only the sidecar may set them. */
const RESERVED: ReadonlySet<string> = new Set(['kv_transfer_params', 'ec_transfer_params']);
/** Objects in a body that engines read parameters from. */
const NESTED: readonly string[] = ['sampling_params', 'extra_args', 'vllm_xargs'];

/**
 * Checks a JSON body of a client, and drops the parameters that only the sidecar may set. The same
 * bytes where there are none. Throws a Refusal 400 for what is no JSON, or nested too deeply.
 *
 * Bodies that a lenient engine reads (`NaN`, UTF-16) are refused, as they could hide parameters.
 */
export function checkedBody(body: Buffer): Buffer {
  const shape = shapeOf(body);
  if (!shape.namesReserved) return body;
  return Buffer.from(JSON.stringify(withoutReserved(JSON.parse(body.toString('utf8')) as Json)));
}

/** The object of a text from another server; undefined for what is no JSON object within bounds. */
export function objectIn(text: Buffer): Json | undefined {
  try {
    shapeOf(text);
    return parsedObject(text);
  } catch {
    return undefined;
  }
}

/** The object of a JSON text that has been checked; undefined for another value. */
export function parsedObject(text: Buffer): Json | undefined {
  const value: unknown = JSON.parse(text.toString('utf8'));
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutReserved(body: Json): Json {
  const kept = Object.entries(body).flatMap(([name, value]) => {
    if (RESERVED.has(name)) return [];
    return [[name, NESTED.includes(name) && isObject(value) ? withoutReserved(value) : value]];
  });
  return Object.fromEntries(kept) as Json;
}

function shapeOf(body: Buffer): Shape {
  const shape = new Shape();
  const scanner = new JsonScanner(shape);
  try {
    scanner.push(body);
    scanner.end();
  } catch (error) {
    if (error instanceof RoutingError) throw new Refusal(400, error.sentence);
    throw error;
  }
  return shape;
}

class Shape implements JsonHandler {
  namesReserved = false;
  #containers = 0;

  key(name: string): void {
    if (RESERVED.has(name)) this.namesReserved = true;
  }

  beginObject(): void {
    this.#containers += 1;
    if (this.#containers <= CONTAINERS_MAX) return;
    throw new Refusal(400, `the body has more than ${CONTAINERS_MAX} objects and arrays`);
  }

  beginArray(): void {
    this.beginObject();
  }

  endObject(): void {}
  endArray(): void {}
  stringPart(): void {}
  integer(): void {}
  scalar(): void {}
}
