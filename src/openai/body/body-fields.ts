import type { KeyedHash } from '../../framework/keyed-hash.ts';
import type { JsonHandler } from '../json/json-text.ts';
import { decodeJsonString, invalidRequest } from '../json/json-text.ts';
import { input } from '../kernel/byte-kernel.ts';
import { ContentBlocks } from '../prompts/content-blocks.ts';
import {
  MEDIA_KINDS,
  type MediaKind,
  MediaPlaceholder,
  PromptMedia,
} from '../prompts/media-placeholder.ts';
import type { ReferenceText } from '../prompts/reference-text.ts';
import type { FieldType, RequestShape } from '../prompts/request-shape.ts';
import { BillingNote } from './billing-note.ts';
import { type ControlFields, checkRepeated } from './control-fields.ts';
import type { PriorityField } from './priority-field.ts';

/** Longest name of a model; a longer one counts as empty. Metrics and memories keep the names. */
export const MODEL_BYTES_MAX = 512;
/** Longest other string that is kept as a value, such as a cache salt. */
const TEXT_BYTES_MAX = 4096;

const LINE_END = 0x0a;
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d];
const SEPARATOR: Uint8Array = Uint8Array.of(LINE_END);
const NO_BYTES = new Uint8Array(0);
/** Properties of message parts whose values are no prompt text. */
const LABEL_KEYS: ReadonlySet<string> = new Set(['type', 'cache_control', 'detail']);
/** Properties that hold or name media: a placeholder stands for each. */
const MEDIA_KEYS: ReadonlySet<string> = new Set(['url', 'data', 'image_url', 'file_data']);

interface ReplacedFields {
  /** Fields that only a trusted client may set. */
  readonly controls?: ControlFields | undefined;
  readonly priority?: PriorityField | undefined;
}

interface CollectedFields extends ReplacedFields {
  /** Gets the prompt in place of `runs`. */
  readonly reference?: ReferenceText | undefined;
  readonly media?: PromptMedia;
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
  /** Byte ranges of the model's names with their quotes: more than one if the field is repeated. */
  readonly models: { readonly start: number; readonly end: number }[] = [];
  /** Byte offset behind the brace that opens the body. */
  firstField = 0;
  /** Number of images, videos and sounds in the prompt. */
  mediaItems = 0;

  readonly #shape: RequestShape;
  readonly #controls: ControlFields | undefined;
  readonly #priority: PriorityField | undefined;
  readonly #reference: ReferenceText | undefined;
  readonly #hash: KeyedHash;
  readonly #media: PromptMedia;
  readonly #note = new BillingNote();
  /** The medium that is being read. */
  #medium: MediaPlaceholder | undefined;
  /** By the latest property name that says it. */
  #mediaKind: MediaKind = 'file';
  #depth = 0;
  /** Whether a field's array is open and has no element so far. */
  #isEmpty = false;
  #field = '';
  /** Whether the current top-level field is one that is kept. */
  #kept = false;
  /** The latest property name, at any depth. */
  #key = '';
  #run: ContentBlocks | undefined;
  #text: Uint8Array[] = [];
  #textBytes = 0;
  /** A message's content before its role has come, as templates put the role first. */
  #beforeRole = NO_BYTES;
  #beforeRoleBytes = 0;
  #roleSeen = true;

  /** With `controls` and `priority`, the fields that these replace are found. */
  constructor(
    shape: RequestShape,
    hash: KeyedHash,
    { controls, priority, reference, media = new PromptMedia() }: CollectedFields = {},
  ) {
    this.#shape = shape;
    this.#controls = controls;
    this.#priority = priority;
    this.#reference = reference;
    this.#media = media;
    this.#hash = hash;
    this.runs = shape.promptFields.map((_, index) => new ContentBlocks(hash, index));
  }

  beginObject(end: number): void {
    if (this.#depth === 0) this.firstField = end;
    this.#reference?.begin(BRACE, this.#depth);
    this.#beginContainer('object');
    if (this.#isMessage()) this.#roleSeen = false;
  }

  endObject(end: number): void {
    if (this.#isMessage()) this.#endMessage();
    this.#depth -= 1;
    this.#reference?.end(BRACE_END, this.#depth);
    this.#endValue(end);
  }

  beginArray(): void {
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
    if (this.#depth !== 1) {
      this.#mediaKind = MEDIA_KINDS.get(name) ?? this.#mediaKind;
      return;
    }
    this.#priority?.key(name, end);
    this.#field = name;
    this.#kept = this.#shape.topFields.has(name);
    const run = this.#shape.promptFields.indexOf(name);
    this.#run = run < 0 ? undefined : this.runs[run];
  }

  stringPart(from: number, to: number, last: boolean, end: number): void {
    if (this.#run === undefined) this.#keepText(from, to, last, end);
    else this.#promptText(this.#run, from, to, last);
    if (last) this.#endScalar('string', end + 1);
  }

  integer(value: number, end: number): void {
    this.#reference?.integer(value, this.#depth);
    if (this.#run === undefined || this.#depth === 1) this.#setValue(value);
    else if (this.#reference === undefined) this.#run.pushId(value);
    this.#endScalar('number', end);
  }

  scalar(text: string, end: number): void {
    this.#reference?.scalar(text);
    if (text === 'null') this.#endScalar('null', end);
    else if (text === 'true' || text === 'false') {
      this.#setValue(text === 'true');
      this.#endScalar('boolean', end);
    } else {
      this.#setValue(Number(text));
      this.#endScalar('number', end);
    }
  }

  #isSystemText(): boolean {
    return this.#field === 'system' && this.#depth === 3 && this.#key === 'text';
  }

  #isMessage(): boolean {
    return this.#depth === 3 && (this.#field === 'messages' || this.#field === 'input');
  }

  #beginContainer(type: 'object' | 'array'): void {
    if (this.#depth === 0 && type === 'array') throw notAnObjectError('an array');
    if (this.#depth === 1 && this.#kept) this.types.set(this.#field, type);
    this.#countElement();
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
    if (this.#field === 'model') {
      checkRepeated('model', this.models.length + 1);
      this.models.push({ start: end - this.#textBytes - 1, end: end + 1 });
    }
    this.#setValue(this.#textBytes <= bytesMax ? this.#decoded() : '');
    this.#text = [];
    this.#textBytes = 0;
  }

  /** Half a surrogate pair cannot be written as UTF-8: two names would be one on the metrics page. */
  #decoded(): string {
    return decodeJsonString(this.#text).toWellFormed();
  }

  #promptText(run: ContentBlocks, from: number, to: number, last: boolean): void {
    if (this.#reference !== undefined) {
      this.#reference.string(input.subarray(from, to), last, this.#depth);
      if (last && this.#depth > 1 && MEDIA_KEYS.has(this.#key)) this.mediaItems += 1;
      return;
    }
    if (this.#depth > 1 && LABEL_KEYS.has(this.#key)) return;
    if (this.#isSystemText() && this.#note.leavesOut(run, from, to, last)) return;
    if (this.#depth > 1 && MEDIA_KEYS.has(this.#key)) {
      this.#addMedium(run, input.subarray(from, to), last);
    } else if (this.#roleSeen) {
      run.pushInput(from, to);
      if (last) run.pushByte(LINE_END);
    } else this.#plainText(run, input.subarray(from, to), last);
  }

  /** Text of a message, which is kept if the message's role has not come yet. */
  #plainText(run: ContentBlocks, text: Uint8Array, last: boolean): void {
    if (this.#roleSeen) run.push(text);
    else if (this.#key === 'role' && this.#depth === 3) {
      run.push(text);
      if (last) this.#roleSeen = true;
    } else this.#keepBeforeRole(text);
    if (last && this.#roleSeen) run.pushByte(LINE_END);
    else if (last) this.#keepBeforeRole(SEPARATOR);
  }

  #addMedium(run: ContentBlocks, piece: Uint8Array, last: boolean): void {
    const medium = (this.#medium ??= new MediaPlaceholder(this.#hash, this.#mediaKind));
    medium.push(piece);
    if (!last) return;
    this.#medium = undefined;
    this.mediaItems += 1;
    this.#plainText(run, medium.end(this.#media), true);
  }

  #endMessage(): void {
    if (this.#beforeRoleBytes > 0) {
      this.#run?.push(this.#beforeRole.subarray(0, this.#beforeRoleBytes));
      this.#beforeRole = NO_BYTES;
      this.#beforeRoleBytes = 0;
    }
    this.#roleSeen = true;
  }

  /** In one piece: a message may have millions of tiny parts. */
  #keepBeforeRole(text: Uint8Array): void {
    const bytes = this.#beforeRoleBytes + text.length;
    if (bytes > this.#beforeRole.length) {
      const longer = new Uint8Array(Math.max(bytes, 2 * this.#beforeRole.length));
      longer.set(this.#beforeRole.subarray(0, this.#beforeRoleBytes));
      this.#beforeRole = longer;
    }
    this.#beforeRole.set(text, this.#beforeRoleBytes);
    this.#beforeRoleBytes = bytes;
  }
}

function notAnObjectError(found: string): Error {
  return invalidRequest(`the request body must be a JSON object, got ${found}`);
}
