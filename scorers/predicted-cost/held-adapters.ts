import type { Endpoint } from '../../src/framework/endpoint.ts';
import { LORA } from '../../src/framework/endpoint-attributes.ts';

/** The adapters that are remembered of an endpoint: those of the last requests. */
const PER_ENDPOINT_MAX = 64;

/**
 * Which adapters endpoints have used, the most recently used last. Engines report only adapters of
 * requests that run now, but keep those used last: on the accelerator as many as one batch may
 * have, and more in the memory of the host, where a setting that no engine reports says so.
 */
export class HeldAdapters {
  /** By slot. */
  readonly #used: (Set<string> | undefined)[] = [];
  /** Endpoints that have used the adapter. */
  readonly #holders = new Map<string, number>();

  /** Whether some endpoint has used it lately: other models are no adapters. */
  isAdapter(model: string): boolean {
    return this.#holders.has(model);
  }

  /**
   * The probability that the endpoint still holds an adapter, where one batch has room for `max`.
   * It holds as many as this at least; how many more is not known, and twice as many are taken to
   * be half as likely, whatever the number.
   */
  heldShare({ slot }: Endpoint, model: string, max: number): number {
    const used = this.#used[slot];
    if (used === undefined || !used.has(model)) return 0;
    let newer = used.size;
    for (const each of used) {
      newer -= 1;
      if (each === model) break;
    }
    return Math.min(1, max / (newer + 1));
  }

  routed({ slot }: Endpoint, model: string): void {
    if (this.#holders.has(model)) this.#touch(slot, model);
  }

  changed(endpoint: Endpoint, previous: Endpoint): void {
    const lora = endpoint.attribute(LORA);
    if (lora === undefined || lora === previous.attribute(LORA)) return;
    for (const model of lora.running) this.#touch(endpoint.slot, model);
  }

  forget({ slot }: Endpoint): void {
    for (const model of this.#used[slot] ?? []) this.#drop(model);
    this.#used[slot] = undefined;
  }

  #touch(slot: number, model: string): void {
    const used = (this.#used[slot] ??= new Set());
    if (!used.delete(model)) this.#holders.set(model, (this.#holders.get(model) ?? 0) + 1);
    used.add(model);
    if (used.size <= PER_ENDPOINT_MAX) return;
    const [oldest = ''] = used;
    used.delete(oldest);
    this.#drop(oldest);
  }

  #drop(model: string): void {
    const left = (this.#holders.get(model) ?? 0) - 1;
    if (left > 0) this.#holders.set(model, left);
    else this.#holders.delete(model);
  }
}
