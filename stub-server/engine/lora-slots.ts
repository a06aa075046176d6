import type { Millis } from '../../src/framework/runtime.ts';

export interface LoraOptions {
  /** Adapters in one batch at most: vLLM's max_loras. */
  readonly slots: number;
  /** Adapters kept in host memory, vLLM's max_cpu_loras. As many as `slots` at least. */
  readonly hostSlots: number;
  /** From disk into host memory. */
  readonly loadMs: Millis;
  /** From host memory onto the accelerator. */
  readonly activateMs: Millis;
  /** What a step with any adapter in it takes longer, as a share. */
  readonly stepOverhead: number;
}

/**
 * For an adapter of rank 8 on an 8 B model, 16 MB: activation 1.5 ms (BLIS); 2 GB/s and 50 ms from disk, a guess;
 * 2 % on each step (BLIS's tier up to rank 8, 3.5 % and 6 % for 16 and 32).
 */
export const LORA_DEFAULTS: LoraOptions = {
  slots: 1,
  hostSlots: 1,
  loadMs: 58,
  activateMs: 1.5,
  stepOverhead: 0.02,
};

/** Which adapters the running batch uses, and which are at hand. */
export class LoraSlots {
  readonly options: LoraOptions;
  /** Adapter → running sequences. */
  readonly #running = new Map<string, number>();
  /** Least recently used first. */
  readonly #active = new Set<string>();
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

  /** Whether a sequence with this adapter may join the batch now. */
  admits(lora: string | undefined): boolean {
    return lora === undefined || this.#running.has(lora) || this.#running.size < this.options.slots;
  }

  /** A sequence joins; returns how much longer its first step takes for the adapter to be brought. */
  join(lora: string | undefined): Millis {
    if (lora === undefined) return 0;
    this.#running.set(lora, (this.#running.get(lora) ?? 0) + 1);
    const { slots, hostSlots, loadMs, activateMs } = this.options;
    const isActive = touch(this.#active, lora, slots, this.#running);
    const isAtHand = touch(this.#host, lora, Math.max(slots, hostSlots), this.#running);
    return (isActive ? 0 : activateMs) + (isAtHand ? 0 : loadMs);
  }

  leave(lora: string | undefined): void {
    if (lora === undefined) return;
    const count = (this.#running.get(lora) ?? 0) - 1;
    if (count > 0) this.#running.set(lora, count);
    else this.#running.delete(lora);
  }

  /** Unloaded by its owner, or lost in a crash. */
  forget(lora: string): void {
    this.#active.delete(lora);
    this.#host.delete(lora);
  }

  forgetAll(): void {
    this.#active.clear();
    this.#host.clear();
  }
}

/** Makes it the most recent of at most `size`, the least recent not in use giving way. Returns whether it was there. */
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
