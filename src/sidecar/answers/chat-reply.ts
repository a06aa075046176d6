import { createHash } from 'node:crypto';
import { memberOf, valueOf } from '../../openai/json/json-members.ts';
import { isObject, type Json, objectIn } from '../body/client-body.ts';

/** Names and arguments of functions beyond this leave the answer without a digest. */
const CALLS_LENGTH_MAX = 64 * 1024;

interface Call {
  id: string;
  name: string;
  arguments: string;
}

/**
 * The first answer of a chat, read as it comes: whole, or by the events of a stream. Its text is
 * not kept, as an answer may be long: only its digest.
 */
export class ChatReply {
  readonly #content = createHash('sha256');
  #length = 0;
  readonly #calls: Call[] = [];
  #callsLength = 0;
  /** Clients leave reasoning out of the next turn, so that its tokens are at other places there. */
  #hasReasoning = false;

  /** Reads a whole answer, or the JSON of an event. */
  read(json: Buffer): void {
    const choices = objectIn(json)?.['choices'];
    const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const part = isObject(first) ? (first['message'] ?? first['delta']) : undefined;
    if (!isObject(part)) return;
    const { content, tool_calls: calls } = part;
    if (typeof content === 'string') this.#add(content);
    if (Array.isArray(calls)) for (const [index, call] of calls.entries()) this.#call(call, index);
    this.#hasReasoning ||= Boolean(part['reasoning_content'] ?? part['reasoning']);
  }

  /** The digest of the answer as a message of the next turn; undefined where it cannot be one. */
  digest(): string | undefined {
    if (this.#hasReasoning || this.#callsLength > CALLS_LENGTH_MAX) return undefined;
    if (this.#length === 0 && this.#calls.length === 0) return undefined;
    return messageDigest({
      role: 'assistant',
      content: this.#length === 0 ? '' : this.#content.copy().digest('base64'),
      calls: this.#calls.map(({ id, name, arguments: text }) => [id, name, text]),
    });
  }

  /**
   * The digest of a message of a request. What clients add to an answer that they send back does
   * not count: only the role, the names, the content and the calls, from which prompts are made.
   */
  static digestOf(message: Buffer): string {
    const role = valueOf(message, 'role');
    const content = memberOf(message, 'content');
    const calls = memberOf(message, 'tool_calls');
    return messageDigest({
      role: typeof role === 'string' ? role : '',
      names: ['name', 'tool_call_id'].map((each) => memberOf(message, each)?.toString() ?? ''),
      content: content === undefined ? '' : contentDigest(content),
      calls: calls === undefined ? [] : callsIn(calls),
    });
  }

  #add(text: string): void {
    this.#length += text.length;
    // A character may be split over two events, which only UTF-16 keeps apart without loss.
    this.#content.update(text, 'utf16le');
  }

  #call(call: unknown, place: number): void {
    if (!isObject(call)) return;
    const index = typeof call['index'] === 'number' ? call['index'] : place;
    // Beyond the bound the calls have no digest anyway.
    if (!Number.isInteger(index) || index < 0 || index > 127) this.#callsLength = Infinity;
    else {
      while (this.#calls.length <= index) this.#calls.push({ id: '', name: '', arguments: '' });
      const known = this.#calls[index] as Call;
      const [id, name, text] = partsOf(call);
      this.#callsLength += id.length + name.length + text.length;
      if (this.#callsLength > CALLS_LENGTH_MAX) return;
      known.id += id;
      known.name += name;
      known.arguments += text;
    }
  }
}

interface MessageParts {
  readonly role: string;
  /** As JSON texts. */
  readonly names?: readonly string[];
  /** Empty for no content. */
  readonly content: string;
  readonly calls: readonly (readonly string[])[];
}

function messageDigest({ role, names = ['', ''], content, calls }: MessageParts): string {
  return createHash('sha256')
    .update(JSON.stringify([role, names, content, calls]))
    .digest('base64');
}

/** A text counts by its characters, and parts of other kinds by their bytes. */
function contentDigest(content: Buffer): string {
  if (content[0] !== 0x22) {
    return content.toString() === 'null' ? '' : `bytes ${hashOf(content)}`;
  }
  const text = JSON.parse(content.toString('utf8')) as string;
  return text === '' ? '' : hashOf(Buffer.from(text, 'utf16le'));
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}

function callsIn(json: Buffer): readonly (readonly string[])[] {
  const calls = JSON.parse(json.toString('utf8')) as unknown;
  return Array.isArray(calls) ? calls.map((call) => partsOf(isObject(call) ? call : {})) : [];
}

function partsOf(call: Json): readonly [id: string, name: string, text: string] {
  const called = isObject(call['function']) ? call['function'] : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return [text(call['id']), text(called['name']), text(called['arguments'])];
}
