import { RoutingError } from '../../framework/error.ts';
import { JsonScanner } from '../../openai/json/json-scanner.ts';
import { SharedTurns } from '../../runtime/clock/shared-turns.ts';
import { TimeSlices } from '../../runtime/clock/time-slices.ts';
import { ParameterReader } from './parameter-reader.ts';
import { Refusal } from './refusal.ts';

export type Json = Readonly<Record<string, unknown>>;

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

/** One piece is read within a slice of time, however many values are in it. */
const PIECE_BYTES = 16 * 1024;
/** All bodies that are checked at the same time take turns. */
const turns = new SharedTurns();

interface CheckOptions {
  /** The parameters to drop. */
  readonly reserved: ReadonlySet<string>;
  /** Ends the check with its reason. */
  readonly signal?: AbortSignal;
  readonly slices?: TimeSlices;
}

/**
 * Checks a JSON body of a client, and drops the parameters that only the sidecar may set. The same
 * bytes where there are none, and else every other byte as it was. Rejects with a Refusal 400 for
 * what is no JSON, or nested too deeply. Other requests are served meanwhile.
 *
 * Bodies that a lenient engine reads (`NaN`, UTF-16) are refused, as they could hide parameters.
 */
export async function checkedBody(
  body: Buffer,
  { reserved, signal, slices = new TimeSlices(undefined, () => turns.next()) }: CheckOptions,
): Promise<Buffer> {
  const reader = new ParameterReader(body, reserved);
  const scanner = new JsonScanner(reader);
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    if (slices.isOver) await slices.next();
    signal?.throwIfAborted();
    refusing(() => scanner.push(body.subarray(at, at + PIECE_BYTES)));
  }
  refusing(() => scanner.end());
  return reader.rest();
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
export function objectIn(text: Buffer): Json | undefined {
  return isJsonObject(text) ? (JSON.parse(text.toString('utf8')) as Json) : undefined;
}

const NONE: ReadonlySet<string> = new Set();

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws a Refusal 400 for what the scanner does not take. */
function refusing(scan: () => void): void {
  try {
    scan();
  } catch (error) {
    if (error instanceof RoutingError) throw new Refusal(400, error.sentence);
    throw error;
  }
}
