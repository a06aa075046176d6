import { MEDIA_KINDS, type MediaKind } from './media-placeholder.ts';

/** Depths of strings: those of a message's part, and of an object in it; deeper in a tool's result. */
const [PART, OBJECT, IN_RESULT] = [5, 6, 8];
/** Properties that may hold media, or name them. */
const MEDIA_KEYS: ReadonlySet<string> = new Set(['url', 'data', 'image_url', 'file_data']);
/** Longer than the type of a source that is text. */
const TYPE_CHARS_MAX = 8;

/**
 * Which strings of a prompt are media, by where they stand: tools, searches and citations have
 * properties of the same names for pages.
 */
export class MediaPlace {
  /** The latest property name at each depth. */
  readonly #keys: string[] = [];
  /** The depth of the latest name of all. The strings of a list have no name of their own. */
  #keyDepth = 0;
  /** Whether that may hold media: most strings are asked for nothing more. */
  #isMediaKey = false;
  #field = '';
  #sourceType = '';

  /** A top-level field begins. */
  field(name: string): void {
    this.#field = name;
  }

  /** A property name below it. */
  key(name: string, depth: number): void {
    this.#keyDepth = depth;
    this.#isMediaKey = MEDIA_KEYS.has(name);
    if (depth > IN_RESULT) return;
    this.#keys[depth] = name;
    if (name === 'source') this.#sourceType = '';
  }

  /** A piece of a string under `type`, which may say that a source is text. */
  type(piece: Uint8Array, depth: number): void {
    if (!this.#isInObject(depth) || this.#keys[depth - 1] !== 'source') return;
    if (this.#sourceType.length > TYPE_CHARS_MAX) return;
    this.#sourceType += Buffer.from(piece.subarray(0, TYPE_CHARS_MAX)).toString('latin1');
  }

  /** What the string at this depth holds; undefined where it is no medium. */
  kindAt(depth: number): MediaKind | undefined {
    if (!this.#isMediaKey || this.#keyDepth !== depth || this.#field === 'tools') return undefined;
    const key = this.#keys[depth] ?? '';
    const holder = this.#keys[depth - 1] ?? '';
    if (key === 'image_url' || key === 'file_data') {
      const isInFile = depth === OBJECT && holder === 'file' && key === 'file_data';
      return depth <= PART || isInFile ? MEDIA_KINDS.get(key) : undefined;
    }
    if (!this.#isInObject(depth)) return undefined;
    return holder === 'source' && this.#sourceType === 'text' ? undefined : MEDIA_KINDS.get(holder);
  }

  #isInObject(depth: number): boolean {
    return depth === OBJECT || depth === IN_RESULT;
  }
}
