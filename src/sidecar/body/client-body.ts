import { RoutingError } from '../../framework/error.ts';
import { memberOf, withMembers } from '../../openai/json/json-members.ts';
import { JsonScanner } from '../../openai/json/json-scanner.ts';
import type { JsonHandler } from '../../openai/json/json-text.ts';
import { Refusal } from './refusal.ts';

export type Json = Readonly<Record<string, unknown>>;

/**
 * Bounds the memory of the body's parts: an empty array takes 2 bytes of text and 16 of memory, and
 * a member with a short name 6 and 100.
 */
const PARTS_MAX = 500_000;
/**
 * They name the server from which an engine fetches KV or embeddings: only the sidecar sets them.
 */
const RESERVED: readonly string[] = ['kv_transfer_params', 'ec_transfer_params'];
/** Fields that name the server from which SGLang fetches KV: only the sidecar may set them. */
const BOOTSTRAP: readonly string[] = ['bootstrap_host', 'bootstrap_port', 'bootstrap_room'];

/** Parameters that only the sidecar may set, for the engines of a connector. */
export function reservedFor(connector: string): ReadonlySet<string> {
  if (connector === 'sglang') return new Set([...RESERVED, ...BOOTSTRAP]);
  return new Set(connector === 'atom' ? [...RESERVED, 'data_parallel_rank'] : RESERVED);
}

/** Objects in a body that engines read parameters from. */
const NESTED: readonly string[] = ['sampling_params', 'extra_args', 'vllm_xargs'];

/**
 * Checks a JSON body of a client, and drops the parameters that only the sidecar may set. The same
 * bytes where there are none, and else every other byte as it was. Throws a Refusal 400 for what is
 * no JSON, or nested too deeply.
 *
 * Bodies that a lenient engine reads (`NaN`, UTF-16) are refused, as they could hide parameters.
 */
export function checkedBody(body: Buffer, reserved: ReadonlySet<string>): Buffer {
  return shapeOf(body, reserved).namesReserved ? withoutReserved(body, reserved) : body;
}

/** Whether a text from another server is a JSON object within bounds. */
export function isJsonObject(text: Buffer): boolean {
  try {
    return shapeOf(text, NONE).isObject;
  } catch {
    return false;
  }
}

/** The object of a text from another server; undefined for what is no JSON object within bounds. */
export function objectIn(text: Buffer): Json | undefined {
  return isJsonObject(text) ? (JSON.parse(text.toString('utf8')) as Json) : undefined;
}

const NONE: ReadonlySet<string> = new Set();

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutReserved(body: Buffer, reserved: ReadonlySet<string>): Buffer {
  const nested = NESTED.flatMap((name) => {
    const value = memberOf(body, name);
    return value === undefined ? [] : [[name, withoutReserved(value, reserved)] as const];
  });
  const removed = [...reserved].map((name) => [name, undefined] as const);
  return withMembers(body, Object.fromEntries([...nested, ...removed]));
}

function shapeOf(body: Buffer, reserved: ReadonlySet<string>): Shape {
  const shape = new Shape(reserved);
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
  /** Whether the outermost value is an object. */
  isObject = false;
  readonly #reserved: ReadonlySet<string>;
  #parts = 0;

  constructor(reserved: ReadonlySet<string>) {
    this.#reserved = reserved;
  }

  key(name: string): void {
    if (this.#reserved.has(name)) this.namesReserved = true;
    this.#count();
  }

  beginObject(): void {
    if (this.#parts === 0) this.isObject = true;
    this.#count();
  }

  #count(): void {
    this.#parts += 1;
    if (this.#parts <= PARTS_MAX) return;
    throw new Refusal(400, `the body has more than ${PARTS_MAX} objects, arrays and names`);
  }

  beginArray(): void {
    this.#count();
  }

  endObject(): void {}
  endArray(): void {}
  stringPart(): void {}
  integer(): void {}
  scalar(): void {}
}
