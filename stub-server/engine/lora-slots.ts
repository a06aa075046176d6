import type { Millis } from '../../src/framework/runtime.ts';

export interface LoraOptions {
  /** Adapters in one batch: vLLM's max_loras. */
  readonly slots: number;
  /** Adapters kept in host memory: vLLM's max_cpu_loras. At least `slots`. */
  readonly hostSlots: number;
  /** From disk into host memory. */
  readonly loadMs: Millis;
  /** From host memory to the accelerator. */
  readonly activateMs: Millis;
  /** Relative extra time of a step with any adapter: 0.02 is 2 %. */
  readonly stepOverhead: number;
}

/**
 * Rank 8 on an 8 B model, 16 MB. Activation: 1.5 ms (BLIS); loading from disk: 50 ms plus 2 GB/s,
 * an estimate; steps take 2 % longer (BLIS: 2 % up to rank 8, 3.5 % for 16, 6 % for 32).
 */
export const LORA_DEFAULTS: LoraOptions = {
  slots: 1,
  hostSlots: 1,
  loadMs: 58,
  activateMs: 1.5,
  stepOverhead: 0.02,
};

/** The adapters that the running batch uses, and those that are loaded. */
export class LoraSlots {
  readonly options: LoraOptions;
  /** Adapter → number of running sequences. */
  readonly #running = new Map<string, number>();
  /** Adapters on the accelerator, least recently used first. */
  readonly #active = new Set<string>();
  /** Adapters in host memory, least recently used first. */
  readonly #host = new Set<string>();

  constructor(options: LoraOptions) {
    this.options = options;
  }

  get running(): ReadonlySet<string> {
    return new Set(this.#running.keys());
  }

  get anyRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Whether a sequence with this adapter can join the batch now. */
  admits(lora: string | undefined): boolean {
    return lora === undefined || this.#running.has(lora) || this.#running.size < this.options.slots;
  }

  /** Adds a sequence to the batch. Returns the time to load its adapter in its first step. */
  join(lora: string | undefined): Millis {
    if (lora === undefined) return 0;
    this.#running.set(lora, (this.#running.get(lora) ?? 0) + 1);
    const { slots, hostSlots, loadMs, activateMs } = this.options;
    const isActive = touch(this.#active, lora, slots, this.#running);
    const isLoaded = touch(this.#host, lora, Math.max(slots, hostSlots), this.#running);
    return (isActive ? 0 : activateMs) + (isLoaded ? 0 : loadMs);
  }

  leave(lora: string | undefined): void {
    if (lora === undefined) return;
    const count = (this.#running.get(lora) ?? 0) - 1;
    if (count > 0) this.#running.set(lora, count);
    else this.#running.delete(lora);
  }

  /** Loads an adapter at once, as at the start of a server or at the request of a client. */
  load(lora: string): void {
    const { slots, hostSlots } = this.options;
    touch(this.#active, lora, slots, this.#running);
    touch(this.#host, lora, Math.max(slots, hostSlots), this.#running);
  }

  /** Adapters on the accelerator, least recently used first. */
  get onAccelerator(): ReadonlySet<string> {
    return this.#active;
  }

  /** Adapters in host memory, among them all those on the accelerator. */
  get inHost(): ReadonlySet<string> {
    return this.#host;
  }

  forget(lora: string): void {
    this.#active.delete(lora);
    this.#host.delete(lora);
  }

  forgetAll(): void {
    this.#active.clear();
    this.#host.clear();
  }
}

/** Makes an adapter the most recent; evicts idle ones above `size`. Returns whether it was in. */
function touch(
  set: Set<string>,
  lora: string,
  size: number,
  inUse: ReadonlyMap<string, number>,
): boolean {
  const was = set.delete(lora);
  set.add(lora);
  for (const other of set) {
    if (set.size <= size) break;
    if (!inUse.has(other)) set.delete(other);
  }
  return was;
}
