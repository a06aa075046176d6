import { createHash } from 'node:crypto';
import { isObject, objectIn } from '../body/client-body.ts';
import { CALLS_LENGTH_MAX, callParts, messageDigest } from './message-digest.ts';

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
      const [id, name, text] = callParts(call);
      this.#callsLength += id.length + name.length + text.length;
      if (this.#callsLength > CALLS_LENGTH_MAX) return;
      known.id += id;
      known.name += name;
      known.arguments += text;
    }
  }
}
