import type { KubeObject } from './kube-objects.ts';

/** What the objects of one kind may take, as JSON: 60,000 pods of usual size. */
const BYTES_MAX: number = 64 * 1024 * 1024;
const OBJECT_BYTES_MAX: number = 256 * 1024;

/** The objects of one kind by `namespace/name`, within a bound of bytes. */
export class KeptObjects<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #sizes = new Map<string, number>();
  readonly #objectBytesMax: number;
  /** The sizes of those that were kept before and have not come again. */
  readonly #awaited: Map<string, number>;
  #bytes = 0;
  #awaitedBytes: number;
  #leftOut = 0;

  /** `before` were kept before the list that now comes: they have room before others. */
  constructor(objectBytesMax: number = OBJECT_BYTES_MAX, before?: KeptObjects<T>) {
    this.#objectBytesMax = objectBytesMax;
    this.#awaited = new Map(before === undefined ? [] : before.#sizes);
    this.#awaitedBytes = before === undefined ? 0 : before.#bytes;
  }

  get all(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  /** How many objects have come that were not kept. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Whether some were left out for which there is room by now. */
  get hasRoomAgain(): boolean {
    return this.#leftOut > 0 && this.#bytes < BYTES_MAX / 2;
  }

  /** Keeps an object, or leaves it out where there is no room. Returns its key. */
  set(object: T): string {
    const key = keyOf(object);
    const bytes = JSON.stringify(object).length;
    this.#forget(key);
    const room = BYTES_MAX - this.#bytes - this.#awaitedBytes;
    if (bytes > this.#objectBytesMax || bytes > room) {
      this.#leftOut += 1;
      return key;
    }
    this.#objects.set(key, object);
    this.#sizes.set(key, bytes);
    this.#bytes += bytes;
    return key;
  }

  delete(object: T): string {
    const key = keyOf(object);
    this.#forget(key);
    return key;
  }

  /** What has not come with the list is gone. */
  endOfList(): void {
    this.#awaited.clear();
    this.#awaitedBytes = 0;
  }

  #forget(key: string): void {
    this.#awaitedBytes -= this.#awaited.get(key) ?? 0;
    this.#awaited.delete(key);
    if (!this.#objects.delete(key)) return;
    this.#bytes -= this.#sizes.get(key) ?? 0;
    this.#sizes.delete(key);
  }
}

function keyOf({ metadata = {} }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
