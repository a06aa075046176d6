import type { KubeObject } from './kube-objects.ts';

/** What the objects of one kind may take, as JSON: 60,000 pods of usual size. */
const BYTES_MAX: number = 64 * 1024 * 1024;
const OBJECT_BYTES_MAX: number = 256 * 1024;
/** The keys that are kept of objects that are too large. When others go, only the next list says. */
const TOO_LARGE_KNOWN_MAX = 1000;

/** The objects of one kind by `namespace/name`, within a bound of bytes. */
export class KeptObjects<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #sizes = new Map<string, number>();
  readonly #objectBytesMax: number;
  /** The sizes of those that were kept before and have not come again. */
  readonly #awaited: Map<string, number>;
  #bytes = 0;
  #awaitedBytes: number;
  /** The keys of objects that are too large by themselves, whatever room there is. */
  readonly #tooLarge = new Set<string>();
  #furtherTooLarge = 0;
  /** How many came for which there was no room beside the others. */
  #withoutRoom = 0;

  /** `before` were kept before the list that now comes: they have room before others. */
  constructor(objectBytesMax: number = OBJECT_BYTES_MAX, before?: KeptObjects<T>) {
    this.#objectBytesMax = objectBytesMax;
    this.#awaited = new Map(before === undefined ? [] : before.#sizes);
    this.#awaitedBytes = before === undefined ? 0 : before.#bytes;
  }

  get all(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  /** How many objects are not kept. One without room counts each time it comes. */
  get leftOut(): number {
    return this.#tooLarge.size + this.#furtherTooLarge + this.#withoutRoom;
  }

  /** Whether some were left out for which there is room by now. */
  get hasRoomAgain(): boolean {
    return this.#withoutRoom > 0 && this.#bytes < BYTES_MAX / 2;
  }

  /** Keeps an object, or leaves it out where there is no room. Returns its key. */
  set(object: T): string {
    const key = keyOf(object);
    const bytes = JSON.stringify(object).length;
    this.#forget(key);
    if (bytes > this.#objectBytesMax) {
      this.#leaveOut(key);
      return key;
    }
    if (bytes > BYTES_MAX - this.#bytes - this.#awaitedBytes) {
      this.#withoutRoom += 1;
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

  #leaveOut(key: string): void {
    if (this.#tooLarge.size < TOO_LARGE_KNOWN_MAX) this.#tooLarge.add(key);
    else this.#furtherTooLarge += 1;
  }

  #forget(key: string): void {
    this.#tooLarge.delete(key);
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
