import { RoutingError } from '../framework/error.ts';
import { BYTES_PER_TOKEN, ContentBlocks } from './content-blocks.ts';
import { type JsonHandler, decodeJsonString } from './json-scanner.ts';
import type { FieldType, RequestShape } from './request-shape.ts';

/** Of an image, video or sound: the reference's 640 × 360 picture at one token per 1,024 pixels. */
const TOKENS_PER_MEDIA = 225;
/** Names, salts and other short strings we keep as text. */
const TEXT_BYTES_MAX = 4096;

const SEPARATOR: Uint8Array = Uint8Array.of(0x0a);
/** Values that name a part's kind rather than say anything. */
const LABEL_KEYS: ReadonlySet<string> = new Set(['type', 'cache_control', 'detail']);
/** Values that hold or name pictures and sound: identity, but not text. */
const MEDIA_KEYS: ReadonlySet<string> = new Set(['url', 'data', 'image_url', 'file_data']);

/** What was found in a body: the fields of the top level and the prompt, hashed. */
export class BodyFields implements JsonHandler {
  /** Type of each top-level field seen; of one given twice the last. */
  readonly types: Map<string, FieldType> = new Map();
  /** Elements of each top-level array. */
  readonly lengths: Map<string, number> = new Map();
  /** Short scalars by path, such as `model` or `sampling_params.max_tokens`. */
  readonly values: Map<string, string | number | boolean> = new Map();
  readonly runs: readonly ContentBlocks[];
  /** Where the model's name stands, quotes included; of one given twice the last, which is the one servers read. */
  model: { readonly start: number; readonly end: number } | undefined;
  /** Behind the brace that opens the body. */
  firstField = 0;
  /** Prompt tokens given as ids or estimated for media. */
  exactTokens = 0;
  /** Pictures, video and sound in the prompt. */
  mediaItems = 0;

  readonly #shape: RequestShape;
  #depth = 0;
  /** The top-level field we are in. */
  #field = '';
  /** The latest property name, at whatever depth. */
  #key = '';
  #run: ContentBlocks | undefined;
  #text: Uint8Array[] = [];
  #textBytes = 0;
  /** A message's content, held back while its role has not come: templates put the role first. */
  #beforeRole: Uint8Array[] = [];
  #roleSeen = true;
  readonly #idBytes = new Uint8Array(BYTES_PER_TOKEN);

  constructor(shape: RequestShape, seed: number) {
    this.#shape = shape;
    this.runs = shape.promptFields.map((_, index) => new ContentBlocks(seed + index));
  }

  beginObject(end: number): void {
    if (this.#depth === 0) this.firstField = end;
    this.#beginContainer('object');
    if (this.#isMessage()) this.#roleSeen = false;
  }

  endObject(): void {
    if (this.#isMessage()) this.#endMessage();
    this.#depth -= 1;
    this.#endField();
  }

  beginArray(): void {
    this.#beginContainer('array');
    if (this.#depth === 2) this.lengths.set(this.#field, 0);
  }

  endArray(): void {
    this.#depth -= 1;
    this.#endField();
  }

  key(name: string): void {
    this.#key = name;
    if (this.#depth !== 1) return;
    this.#field = name;
    const run = this.#shape.promptFields.indexOf(name);
    this.#run = run < 0 ? undefined : this.runs[run];
  }

  stringPart(text: Uint8Array, last: boolean, end: number): void {
    if (this.#run === undefined) this.#keepText(text, last, end);
    else this.#promptText(this.#run, text, last);
    if (last) this.#endScalar('string');
  }

  integer(value: number): void {
    if (this.#run !== undefined && this.#depth > 1) this.#tokenId(this.#run, value);
    else this.#setValue(value);
    this.#endScalar('number');
  }

  scalar(text: string): void {
    if (text === 'null') this.#endScalar('null');
    else if (text === 'true' || text === 'false') {
      this.#setValue(text === 'true');
      this.#endScalar('boolean');
    } else {
      this.#setValue(Number(text));
      this.#endScalar('number');
    }
  }

  #isMessage(): boolean {
    return this.#depth === 3 && (this.#field === 'messages' || this.#field === 'input');
  }

  #beginContainer(type: 'object' | 'array'): void {
    if (this.#depth === 0 && type === 'array') throw notAnObject('an array');
    if (this.#depth === 1) this.types.set(this.#field, type);
    this.#countElement();
    this.#depth += 1;
  }

  #endScalar(type: FieldType): void {
    if (this.#depth === 0) throw notAnObject(`a ${type}`);
    if (this.#depth === 1) this.types.set(this.#field, type);
    this.#countElement();
    this.#endField();
  }

  /** What follows in the template starts a block of its own, so that it is the same behind any tools. */
  #endField(): void {
    if (this.#depth === 1 && this.#run !== this.runs.at(-1)) this.#run?.flush();
  }

  #countElement(): void {
    if (this.#depth !== 2 || this.types.get(this.#field) !== 'array') return;
    this.lengths.set(this.#field, (this.lengths.get(this.#field) ?? 0) + 1);
  }

  #setValue(value: string | number | boolean): void {
    if (this.#depth === 1) this.values.set(this.#field, value);
    else if (this.#depth === 2) this.values.set(`${this.#field}.${this.#key}`, value);
  }

  #keepText(text: Uint8Array, last: boolean, end: number): void {
    if (this.#depth > 1) return;
    this.#textBytes += text.length;
    if (this.#textBytes <= TEXT_BYTES_MAX) this.#text.push(last ? text : text.slice());
    if (!last) return;
    if (this.#field === 'model') this.model = { start: end - this.#textBytes - 1, end: end + 1 };
    this.#setValue(this.#textBytes <= TEXT_BYTES_MAX ? decodeJsonString(this.#text) : '');
    this.#text = [];
    this.#textBytes = 0;
  }

  #promptText(run: ContentBlocks, text: Uint8Array, last: boolean): void {
    if (this.#depth > 1 && LABEL_KEYS.has(this.#key)) return;
    if (this.#depth > 1 && MEDIA_KEYS.has(this.#key)) this.#countMedia(text, last);
    if (this.#roleSeen) run.push(text);
    else if (this.#key === 'role' && this.#depth === 3) {
      run.push(text);
      if (last) this.#roleSeen = true;
    } else this.#beforeRole.push(text);
    if (last && this.#roleSeen) run.push(SEPARATOR);
    else if (last) this.#beforeRole.push(SEPARATOR);
  }

  /** Its bytes tell pictures apart in the hash; its tokens have nothing to do with them. */
  #countMedia(text: Uint8Array, last: boolean): void {
    this.exactTokens -= text.length / BYTES_PER_TOKEN;
    if (!last) return;
    this.exactTokens += TOKENS_PER_MEDIA;
    this.mediaItems += 1;
  }

  #endMessage(): void {
    for (const text of this.#beforeRole) this.#run?.push(text);
    this.#beforeRole = [];
    this.#roleSeen = true;
  }

  #tokenId(run: ContentBlocks, value: number): void {
    for (let index = 0; index < BYTES_PER_TOKEN; index++) {
      this.#idBytes[index] = (value / 2 ** (8 * index)) & 0xff;
    }
    run.push(this.#idBytes);
  }
}

function notAnObject(found: string): RoutingError {
  return new RoutingError(
    'invalid-request',
    `the request body must be a JSON object, got ${found}`,
  );
}
