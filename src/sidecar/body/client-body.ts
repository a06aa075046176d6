import { RoutingError } from '../../framework/error.ts';
import type { PlainObject } from '../../framework/values/plain-object.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { JsonScanner } from '../../openai/json/json-scanner.ts';
import { ParameterReader } from './parameter-reader.ts';
import type { TurnsReader } from './read-in-turns.ts';
import { Refusal } from './refusal.ts';

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

/** A body of a client after its check. */
export interface CheckedBody {
  /** The same bytes where nothing is dropped, and else every other byte as it was. */
  readonly bytes: Buffer;
  /** Undefined for another value, and for more members than any API has. */
  readonly object: JsonObject | undefined;
}

/**
 * Checks a JSON body of a client, and drops the parameters that only the sidecar may set. Rejects
 * with a Refusal 400 for what is no JSON, or nested too deeply. Other requests are served meanwhile.
 *
 * Bodies that a lenient engine reads (`NaN`, UTF-16) are refused, as they could hide parameters.
 */
export async function checkedBody(
  body: Buffer,
  reserved: ReadonlySet<string>,
  inTurns: TurnsReader,
): Promise<CheckedBody> {
  const reader = new ParameterReader(body, reserved);
  try {
    await inTurns.scan(body, reader);
  } catch (error) {
    if (error instanceof RoutingError) throw new Refusal(400, error.sentence);
    throw error;
  }
  const bytes = await inTurns.joined(reader.rest());
  return { bytes, object: reader.objectIn(bytes) };
}

/** Whether a text from another server is a JSON object within bounds. */
export function isJsonObject(text: Buffer): boolean {
  const reader = new ParameterReader(text, NONE);
  const scanner = new JsonScanner(reader);
  try {
    scanner.push(text);
    scanner.end();
    return reader.isObject;
  } catch {
    return false;
  }
}

/** The object of a text from another server; undefined for what is no JSON object within bounds. */
export function objectIn(text: Buffer): PlainObject | undefined {
  return isJsonObject(text) ? (JSON.parse(text.toString('utf8')) as PlainObject) : undefined;
}

const NONE: ReadonlySet<string> = new Set();
