import { invalidRequest } from '../json/json-text.ts';
import type { Replacement } from './body-edit.ts';

/**
 * Fields by which the sender of a body chooses from where an engine takes a KV cache or encoded
 * media: vLLM's, and SGLang's names for the same.
 */
export const CONTROL_FIELDS: readonly string[] = [
  'kv_transfer_params',
  'ec_transfer_params',
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
];
const NAMES: ReadonlySet<string> = new Set(CONTROL_FIELDS);

/** Fields whose content engines merge with the top-level ones. */
const MERGED: ReadonlySet<string> = new Set(['vllm_xargs', 'sampling_params']);

/** No sound body has a field more than once. A replacement takes more memory than such a field. */
const REPLACED_MAX = 16;

/** The key, its colon and its value become the key and this. */
const NULL: Uint8Array = new TextEncoder().encode(':null');

interface KeyPlace {
  readonly depth: number;
  readonly top: string;
  readonly end: number;
}

/** Finds the control fields of a body and replaces their values by null. */
export class ControlFields {
  readonly replacements: Replacement[] = [];
  readonly #onIgnored: (field: string) => void;
  #field: string | undefined;
  #start = 0;
  #depth = 0;

  /** `onIgnored` is called for each field that is replaced. */
  constructor(onIgnored: (field: string) => void) {
    this.#onIgnored = onIgnored;
  }

  /**
   * A property name at this depth inside the top-level field `top`; `end`: the offset behind it.
   */
  key(name: string, { depth, top, end }: KeyPlace): void {
    if (this.#field !== undefined || !NAMES.has(name)) return;
    if (depth > 1 && !MERGED.has(top)) return;
    this.#field = name;
    this.#depth = depth;
    this.#start = end;
  }

  /** A value has ended at this depth; `end`: the offset behind it. */
  valueEnd(depth: number, end: number): void {
    const field = this.#field;
    if (field === undefined || depth !== this.#depth) return;
    this.#field = undefined;
    checkRepeated(field, this.replacements.length + 1);
    this.replacements.push({ start: this.#start, end, text: NULL, field });
    this.#onIgnored(field);
  }
}

/** Throws RoutingError `invalid-request` where a field comes too often to be replaced each time. */
export function checkRepeated(field: string, times: number): void {
  if (times <= REPLACED_MAX) return;
  throw invalidRequest(`field "${field}" is the last of more than ${REPLACED_MAX} to be replaced`);
}
