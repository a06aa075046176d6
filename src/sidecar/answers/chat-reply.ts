import { createHash } from 'node:crypto';
import { isPlainObject } from '../../framework/values/plain-object.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import type { TurnsReader } from '../body/read-in-turns.ts';
import {
  CALLS_LENGTH_MAX,
  callParts,
  hashText,
  messageDigest,
  NULL,
  QUOTE,
} from './message-digest.ts';

/** With every character escaped, calls whose text counts take less. */
const CALLS_BYTES_MAX = 8 * CALLS_LENGTH_MAX;
const NONE = Buffer.from('[]');
const OPEN_BRACKET = 0x5b;
/** Values of a member that says nothing. */
const NOTHING: ReadonlySet<string> = new Set(['""', 'false', '0']);

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

  /** Reads a whole answer, or the object of an event. */
  async read(answer: JsonObject, inTurns: TurnsReader): Promise<void> {
    const [first = NONE] = await inTurns.elementsOf(answer.member('choices') ?? NONE, 1);
    const choice = await inTurns.objectIn(first);
    const said = presentIn(choice, 'message', 'delta');
    const part = said && (await inTurns.objectIn(said));
    const content = presentIn(part, 'content');
    if (content?.[0] === QUOTE && content.length > 2) {
      this.#length += content.length - 2;
      await hashText(content, this.#content, inTurns);
    }
    const calls = presentIn(part, 'tool_calls');
    if (calls !== undefined && calls.length > CALLS_BYTES_MAX) this.#callsLength = Infinity;
    else if (calls?.[0] === OPEN_BRACKET) this.#readCalls(calls);
    const reasoning = presentIn(part, 'reasoning_content', 'reasoning');
    this.#hasReasoning ||=
      reasoning !== undefined && !NOTHING.has(reasoning.toString('latin1', 0, 8));
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

  #readCalls(json: Buffer): void {
    const calls = JSON.parse(json.toString('utf8')) as readonly unknown[];
    for (const [place, call] of calls.entries()) this.#call(call, place);
  }

  #call(call: unknown, place: number): void {
    if (!isPlainObject(call)) return;
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

/** The first of these members that is there and not null. */
function presentIn(object: JsonObject | undefined, ...names: string[]): Buffer | undefined {
  return names.map((name) => object?.member(name)).find((each) => each && !each.equals(NULL));
}
