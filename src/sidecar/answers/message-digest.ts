import { createHash, type Hash } from 'node:crypto';
import { isPlainObject, type PlainObject } from '../../framework/values/plain-object.ts';
import type { TurnsReader } from '../body/read-in-turns.ts';

/** Names and arguments of functions beyond this leave an answer without a digest. */
export const CALLS_LENGTH_MAX: number = 64 * 1024;
/** Calls whose text is longer are no answer's. */
const CALLS_BYTES_MAX = 1024 * 1024;
/** Roles and names whose text is longer count by its hash. */
const NAME_BYTES_MAX = 1024;

interface MessageTexts {
  readonly role: string;
  /** As JSON texts. */
  readonly names?: readonly string[];
  /** Empty for no content. */
  readonly content: string;
  readonly calls: readonly (readonly string[])[];
}

/** The digest of a message: two messages with one digest make the same part of a prompt. */
export function messageDigest({ role, names = ['', ''], content, calls }: MessageTexts): string {
  return createHash('sha256')
    .update(JSON.stringify([role, names, content, calls]))
    .digest('base64');
}

export interface DigestedMessage {
  readonly role: string;
  readonly digest: string;
}

/**
 * The digest of a message of a request. What clients add to an answer that they send back does not
 * count: only the role, the names, the content and the calls, from which prompts are made.
 */
export async function digestedMessage(
  message: Buffer,
  inTurns: TurnsReader,
): Promise<DigestedMessage> {
  const object = await inTurns.objectIn(message);
  const member = (name: string): Buffer | undefined => object?.member(name);
  const said = member('role');
  const role = said?.[0] === QUOTE ? await roleOf(said, inTurns) : '';
  const digest = messageDigest({
    role,
    names: [await nameOf(member('name'), inTurns), await nameOf(member('tool_call_id'), inTurns)],
    content: await contentDigest(member('content'), inTurns),
    calls: await callsIn(member('tool_calls'), inTurns),
  });
  return { role, digest };
}

export const QUOTE = 0x22;

async function roleOf(json: Buffer, inTurns: TurnsReader): Promise<string> {
  if (json.length > NAME_BYTES_MAX) return bytesDigest(json, inTurns);
  return JSON.parse(json.toString('utf8')) as string;
}

async function nameOf(json: Buffer | undefined, inTurns: TurnsReader): Promise<string> {
  if (json === undefined) return '';
  return json.length > NAME_BYTES_MAX ? bytesDigest(json, inTurns) : json.toString('utf8');
}

/** A text counts by its characters, and parts of other kinds by their bytes. */
async function contentDigest(json: Buffer | undefined, inTurns: TurnsReader): Promise<string> {
  if (json === undefined || json.equals(NULL)) return '';
  if (json[0] !== QUOTE) return bytesDigest(json, inTurns);
  if (json.length === 2) return '';
  return (await hashText(json, createHash('sha256'), inTurns)).digest('base64');
}

/** Adds the characters of a JSON string to a hash, in UTF-16. */
export async function hashText(json: Buffer, hash: Hash, inTurns: TurnsReader): Promise<Hash> {
  const text = new HashedText(hash);
  await inTurns.pieces(json.subarray(1, -1), (piece) => text.add(piece));
  text.end();
  return hash;
}

export const NULL: Buffer = Buffer.from('null');

async function bytesDigest(bytes: Buffer, inTurns: TurnsReader): Promise<string> {
  const hash = await inTurns.hash(bytes, createHash('sha256'));
  return `bytes ${hash.digest('base64')}`;
}

/**
 * Hashes the characters of a JSON string. In UTF-16, because a character of an answer may be split
 * over two events, which only that keeps apart without loss.
 */
class HashedText {
  readonly #hash: Hash;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** An escape whose end has not come yet. */
  #begun = '';

  constructor(hash: Hash) {
    this.#hash = hash;
  }

  /** Adds the next bytes between the quotes, wherever they are cut. */
  add(piece: Buffer): void {
    this.#add(this.#begun + this.#decoder.decode(piece, { stream: true }));
  }

  end(): void {
    this.#add(this.#begun + this.#decoder.decode());
  }

  #add(raw: string): void {
    const end = endOfEscapes(raw);
    this.#begun = raw.slice(end);
    this.#hash.update(JSON.parse(`"${raw.slice(0, end)}"`) as string, 'utf16le');
  }
}

/**
 * The place where an escape begins that the text cuts off; the end of the text where there is none.
 */
function endOfEscapes(raw: string): number {
  const last = raw.lastIndexOf('\\');
  let first = last;
  while (raw[first - 1] === '\\') first -= 1;
  // Where their number is even, the last backslash is itself escaped.
  const isEscaped = (last - first) % 2 === 1;
  const length = raw[last + 1] === 'u' ? 6 : 2;
  return last < 0 || isEscaped || last + length <= raw.length ? raw.length : last;
}

/** What counts of the calls of a message; of those with too long a text, its hash. */
async function callsIn(
  json: Buffer | undefined,
  inTurns: TurnsReader,
): Promise<readonly (readonly string[])[]> {
  if (json === undefined) return [];
  if (json.length > CALLS_BYTES_MAX) return [[await bytesDigest(json, inTurns)]];
  const calls = JSON.parse(json.toString('utf8')) as unknown;
  return Array.isArray(calls)
    ? calls.map((call) => callParts(isPlainObject(call) ? call : {}))
    : [];
}

/** What counts of a call. */
export function callParts(call: PlainObject): readonly [id: string, name: string, text: string] {
  const called = isPlainObject(call['function']) ? call['function'] : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return [text(call['id']), text(called['name']), text(called['arguments'])];
}
