import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import type { JsonHandler } from '../json/json-text.ts';
import { decodeJsonString, invalidRequest } from '../json/json-text.ts';
import { input } from '../kernel/byte-kernel.ts';
import { ContentBlocks } from '../prompts/content-blocks.ts';
import { PromptMedia } from '../prompts/media-placeholder.ts';
import type { ReferenceText } from '../prompts/reference-text.ts';
import type { FieldType, RequestShape } from '../prompts/request-shape.ts';
import type { AnswerLengthFields } from './answer-length-fields.ts';
import { type ControlFields, checkRepeated } from './control-fields.ts';
import type { PriorityField } from './priority-field.ts';
import { PromptText } from './prompt-text.ts';

/** Longest name of a model; a longer one counts as empty. Metrics and memories keep the names. */
export const MODEL_BYTES_MAX = 512;
/** Longest other string that is kept as a value, such as a cache salt. */
const TEXT_BYTES_MAX = 4096;

const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d];

interface ReplacedFields {
  /** Fields that only a trusted client may set. */
  readonly controls?: ControlFields | undefined;
  readonly priority?: PriorityField | undefined;
}

interface CollectedFields extends ReplacedFields {
  /** Gets the prompt in place of `runs`. */
  readonly reference?: ReferenceText | undefined;
  readonly media?: PromptMedia;
  readonly lengths?: AnswerLengthFields | undefined;
}

/** Collects a body's top-level fields and hashes its prompt. */
export class BodyFields implements JsonHandler {
  // Only fields that the shape reads are kept: a body can have millions of others.
  /** Type of each top-level field; the last one if a field is repeated. */
  readonly types: Map<string, FieldType> = new Map();
  /** Fields that are an array without elements. */
  readonly empty: Set<string> = new Set();
  /** Short scalars by path: `model`, `sampling_params.max_tokens`. */
  readonly values: Map<string, string | number | boolean> = new Map();
  readonly runs: readonly ContentBlocks[];
  /**
   * Byte ranges of the model's names with their quotes, or of `null`: more than one if the field is
   * repeated.
   */
  readonly models: { readonly start: number; readonly end: number }[] = [];
  /** Byte offset behind the brace that opens the body. */
  firstField = 0;

  readonly #shape: RequestShape;
  readonly #controls: ControlFields | undefined;
  readonly #priority: PriorityField | undefined;
  readonly #reference: ReferenceText | undefined;
  readonly #lengths: AnswerLengthFields | undefined;
  readonly #prompt: PromptText;
  #depth = 0;
  /** Whether a field's array is open and has no element so far. */
  #isEmpty = false;
  #field = '';
  /** Whether the current top-level field is one that is kept. */
  #kept = false;
  /** The latest property name, at any depth. */
  #key = '';
  #run: ContentBlocks | undefined;
  /** Whether a list in the current field has several prompts. */
  #isList = false;
  /** Whether an element of a list of prompts has ended, so that the next one begins another. */
  #isBehindPrompt = false;
  #text: Uint8Array[] = [];
  #textBytes = 0;

  /** With `controls` and `priority`, the fields that these replace are found. */
  constructor(
    shape: RequestShape,
    hash: KeyedHash,
    { controls, priority, reference, lengths, media = new PromptMedia() }: CollectedFields = {},
  ) {
    this.#shape = shape;
    this.#controls = controls;
    this.#priority = priority;
    this.#reference = reference;
    this.#lengths = lengths;
    this.#prompt = new PromptText({ hash, media, reference });
    this.runs = shape.promptFields.map((_, index) => new ContentBlocks(hash, index));
  }

  /** Number of images, videos and sounds in the prompt. */
  get mediaItems(): number {
    return this.#prompt.mediaItems;
  }

  beginObject(end: number): void {
    if (this.#depth === 0) this.firstField = end;
    this.#reference?.begin(BRACE, this.#depth);
    this.#beginContainer('object');
    if (this.#isMessage()) this.#prompt.beginMessage();
  }

  endObject(end: number): void {
    if (this.#isMessage()) this.#prompt.endMessage();
    this.#depth -= 1;
    this.#reference?.end(BRACE_END, this.#depth);
    this.#endValue(end);
  }

  beginArray(): void {
    if (this.#isBehindPrompt) this.#beginPrompt();
    this.#reference?.begin(BRACKET, this.#depth);
    this.#beginContainer('array');
    this.#isEmpty = this.#depth === 2 && this.#kept;
    if (this.#isEmpty) this.empty.add(this.#field);
  }

  endArray(end: number): void {
    this.#depth -= 1;
    this.#reference?.end(BRACKET_END, this.#depth);
    this.#endValue(end);
  }

  key(name: string, end: number): void {
    this.#key = name;
    this.#reference?.key(name, this.#depth);
    this.#controls?.key(name, { depth: this.#depth, top: this.#field, end });
    this.#lengths?.key(name, this.#depth);
    if (this.#depth !== 1) {
      this.#prompt.key(name, this.#depth);
      return;
    }
    this.#priority?.key(name, end);
    this.#field = name;
    this.#kept = this.#shape.topFields.has(name);
    const run = this.#shape.promptFields.indexOf(name);
    this.#run = run < 0 ? undefined : this.runs[run];
    this.#isBehindPrompt = false;
    this.#isList = run >= 0 && this.#shape.listFields.includes(name);
    this.#prompt.field(name, this.#run);
  }

  stringPart(from: number, to: number, last: boolean, end: number): void {
    this.#lengths?.string(from, to, last, this.#depth);
    if (this.#isBehindPrompt) this.#beginPrompt();
    if (this.#run === undefined) this.#keepText(from, to, last, end);
    else this.#prompt.push(from, to, last, this.#depth);
    if (last) this.#endScalar('string', end + 1);
  }

  integer(value: number, end: number): void {
    this.#reference?.integer(value, this.#depth);
    this.#lengths?.value(value, this.#depth);
    if (this.#run === undefined || this.#depth === 1) this.#setValue(value);
    else if (this.#reference === undefined) this.#run.pushId(value);
    this.#endScalar('number', end);
  }

  scalar(text: string, end: number): void {
    this.#reference?.scalar(text);
    if (text === 'null') this.#null(end);
    else if (text === 'true' || text === 'false') {
      this.#lengths?.value(text === 'true', this.#depth);
      this.#setValue(text === 'true');
      this.#endScalar('boolean', end);
    } else {
      this.#lengths?.value(Number(text), this.#depth);
      this.#setValue(Number(text));
      this.#endScalar('number', end);
    }
  }

  /** A model that is null is none, and a rule may put a name in its place. */
  #null(end: number): void {
    if (this.#depth === 1 && this.#field === 'model' && this.#kept) {
      this.#keepModel(end - 'null'.length, end);
      this.values.delete('model');
    }
    this.#endScalar('null', end);
  }

  #keepModel(start: number, end: number): void {
    checkRepeated('model', this.models.length + 1);
    this.models.push({ start, end });
  }

  #isMessage(): boolean {
    return this.#depth === 3 && (this.#field === 'messages' || this.#field === 'input');
  }

  #beginContainer(type: 'object' | 'array'): void {
    if (this.#depth === 0 && type === 'array') throw notAnObjectError('an array');
    if (this.#depth === 1 && this.#kept) this.types.set(this.#field, type);
    this.#countElement();
    this.#lengths?.begin(type, this.#depth);
    this.#depth += 1;
  }

  #endScalar(type: FieldType, end: number): void {
    if (this.#depth === 0) throw notAnObjectError(type === 'null' ? type : `a ${type}`);
    if (this.#depth === 1 && this.#kept) this.types.set(this.#field, type);
    this.#countElement();
    this.#endValue(end);
  }

  /** Closes the block, so that the next field's blocks do not depend on this field's length. */
  #endValue(end: number): void {
    this.#controls?.valueEnd(this.#depth, end);
    this.#priority?.valueEnd(this.#depth, end);
    if (this.#depth === 1 && this.#run !== this.runs.at(-1)) this.#run?.flush();
    if (this.#depth === 2 && this.#isList) this.#isBehindPrompt = true;
  }

  #beginPrompt(): void {
    if (this.#depth !== 2) return;
    this.#isBehindPrompt = false;
    this.#run?.beginText();
    this.#reference?.beginText();
  }

  #countElement(): void {
    if (!this.#isEmpty || this.#depth !== 2) return;
    this.#isEmpty = false;
    this.empty.delete(this.#field);
  }

  #setValue(value: string | number | boolean): void {
    if (!this.#kept) return;
    if (this.#depth === 1) this.values.set(this.#field, value);
    else if (this.#depth === 2 && this.#shape.outputCaps.includes(`${this.#field}.${this.#key}`)) {
      this.values.set(`${this.#field}.${this.#key}`, value);
    }
  }

  #keepText(from: number, to: number, last: boolean, end: number): void {
    if (this.#depth > 1 || !this.#kept) return;
    this.#textBytes += to - from;
    const bytesMax = this.#field === 'model' ? MODEL_BYTES_MAX : TEXT_BYTES_MAX;
    if (this.#textBytes <= bytesMax) this.#text.push(input.slice(from, to));
    if (!last) return;
    if (this.#field === 'model') this.#keepModel(end - this.#textBytes - 1, end + 1);
    this.#setValue(this.#textBytes <= bytesMax ? this.#decoded() : '');
    this.#text = [];
    this.#textBytes = 0;
  }

  /**
   * Half a surrogate pair cannot be written as UTF-8: two names would be one on the metrics page.
   */
  #decoded(): string {
    return decodeJsonString(this.#text).toWellFormed();
  }
}

function notAnObjectError(found: string): Error {
  return invalidRequest(`the request body must be a JSON object, got ${found}`);
}
