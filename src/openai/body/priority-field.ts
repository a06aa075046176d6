import type { Endpoint } from '../../framework/endpoint.ts';
import type { Replacement } from './body-edit.ts';
import { checkRepeated } from './control-fields.ts';

const FIELD = 'priority';
/** The labels that name the engine; the first that an endpoint has counts. */
const ENGINE_LABELS = ['llm-d.ai/engine-type', 'inference.networking.k8s.io/engine-type'];
/**
 * This engine runs the lowest number first. Other engines, and the picker, take the highest first.
 */
const LOWEST_FIRST = 'vllm';

const encoder = new TextEncoder();

/**
 * Puts the picker's priority of a request into its body, in place of the client's. The sign depends
 * on the engine, which only the pick says: its place is left blank until then, so that the body's
 * length is known before.
 */
export class PriorityField {
  readonly #places: { readonly start: number; readonly end: number }[] = [];
  readonly #priority: number;
  /** A colon, the place of the sign, and the digits. Replacements that were made show changes. */
  readonly #value: Uint8Array;
  /** The value behind the field's name, with a comma. */
  readonly #field: Uint8Array;
  #start: number | undefined;

  constructor(priority: number) {
    this.#priority = priority;
    const digits = Math.abs(priority);
    this.#value = encoder.encode(`: ${digits}`);
    this.#field = encoder.encode(`"${FIELD}": ${digits},`);
    this.#sign(priority);
  }

  /** The name of a top-level property; `end`: the offset behind it. */
  key(name: string, end: number): void {
    if (name === FIELD) this.#start = end;
  }

  /** A value has ended at this depth; `end`: the offset behind it. */
  valueEnd(depth: number, end: number): void {
    if (depth !== 1 || this.#start === undefined) return;
    checkRepeated(FIELD, this.#places.length + 1);
    this.#places.push({ start: this.#start, end });
    this.#start = undefined;
  }

  /** `firstField`: the offset behind the brace that opens the body; 0 before it has come. */
  replacements(firstField: number): readonly Replacement[] {
    if (firstField === 0) return [];
    if (this.#places.length === 0) {
      return [{ start: firstField, end: firstField, text: this.#field, field: FIELD }];
    }
    return this.#places.map((place) => ({ ...place, text: this.#value, field: FIELD }));
  }

  /** The request goes there: changes the replacements, also those that were returned before. */
  routedTo({ labels }: Pick<Endpoint, 'labels'>): void {
    const engine = ENGINE_LABELS.map((label) => labels.get(label)).find((each) => each);
    const isReversed = engine?.toLowerCase() === LOWEST_FIRST;
    this.#sign(isReversed ? -this.#priority : this.#priority);
  }

  #sign(priority: number): void {
    const sign = priority < 0 ? MINUS : BLANK;
    this.#value[this.#value.indexOf(COLON) + 1] = sign;
    this.#field[this.#field.indexOf(COLON) + 1] = sign;
  }
}

const [COLON = 0, MINUS = 0, BLANK = 0] = encoder.encode(':- ');
