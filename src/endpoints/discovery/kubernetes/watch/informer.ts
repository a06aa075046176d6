import { messageOf } from '../../../../framework/error.ts';
import type { Clock, Millis, Random, Timer } from '../../../../framework/runtime.ts';
import { KeptObjects } from './kept-objects.ts';
import type { KubeObject } from './kube-objects.ts';
import { Listing } from './listing.ts';

/** `DELETED` carries the last state, `BOOKMARK` only a version. An error ends the watch. */
interface WatchEvent<T> {
  readonly type: string;
  readonly object: T;
}

export interface ResourceSource<T> {
  /**
   * Visits all objects and resolves to the version of the list. Rejects, with a sentence for a
   * person, when the server cannot be reached or refuses. Ends where the signal is aborted.
   */
  list(visit: (object: T) => void, signal: AbortSignal): Promise<string>;
  watch(resourceVersion: string, observer: WatchObserver<T>): { stop(): void };
}

export interface WatchObserver<T> {
  onOpen(): void;
  onEvent(event: WatchEvent<T>): void;
  /** Called once, however the watch ends; `status` is the server's HTTP status, if it sent one. */
  onEnd(status: number | undefined, reason: string): void;
}

export interface InformerObserver<T> {
  /** All objects by `namespace/name`, and the key of the changed one; after a list undefined. */
  onChange(objects: ReadonlyMap<string, T>, changed: string | undefined): void;
  /** The objects cannot be listed or watched. The informer tries again by itself. */
  onTrouble?(sentence: string): void;
  /** Lists and watches work. Called often. */
  onRecovered?(): void;
  /** Some objects are left out because there is no room for them, or none any more. */
  onLeftOut?(some: boolean): void;
}

interface InformerOptions<T> {
  readonly source: ResourceSource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: InformerObserver<T>;
  /** A larger object, as JSON, is left out. */
  readonly objectBytesMax?: number | undefined;
}

/** Waits double from the first to the second, times 0.5 to 1, so that pickers return one by one. */
const BACKOFF_MS = 200;
const BACKOFF_MS_MAX = 10_000;
/** A watch that lasts this long works: one to an absent server ends at once. */
const HEALTHY_MS = 5_000;
const GONE = 410;
const SERVER_ERROR = 500;

/**
 * Keeps a copy of the objects of one kind by a list and watches, and lists again where the server
 * has lost the version. While the server is away, the last state stays. Once it is back, its objects
 * are listed: its store may have been put back from a backup, where the version comes later, and a
 * watch reports no change before its version.
 */
export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  #kept: KeptObjects<T>;
  #resourceVersion: string | undefined;
  #watch: { stop(): void } | undefined;
  #timer: Timer | undefined;
  #healthy: Timer | undefined;
  #listing: Listing | undefined;
  #failures = 0;
  #someLeftOut = false;
  #contactAt: Millis | undefined;
  #stopped = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#kept = new KeptObjects(options.objectBytesMax);
    void this.#list();
  }

  get synced(): boolean {
    return this.#contactAt !== undefined;
  }

  /** Time since the last contact while the server is away, else 0. Undefined before the first. */
  get ageMs(): Millis | undefined {
    if (this.#contactAt === undefined) return undefined;
    return this.#failures > 1 ? this.#options.clock.now() - this.#contactAt : 0;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#healthy?.cancel();
    this.#listing?.stop();
    this.#watch?.stop();
  }

  async #list(): Promise<void> {
    const { source, clock, observer, objectBytesMax } = this.#options;
    const listing = new Listing(clock, (reason) => this.#retry(reason));
    this.#listing = listing;
    // An object missing from the list is deleted, whether its deletion was seen or not.
    const kept = new KeptObjects<T>(objectBytesMax, this.#kept);
    const visit = (object: T): void => {
      if (listing.takesMore()) kept.set(object);
    };
    let version: string;
    try {
      version = await source.list(visit, listing.signal);
    } catch (error) {
      listing.giveUp(messageOf(error));
      return;
    }
    if (listing.signal.aborted) return;
    listing.end();
    kept.endOfList();
    this.#kept = kept;
    this.#resourceVersion = version;
    this.#contactAt = clock.now();
    // Without this condition a server whose watches fail would be reported again after each list.
    if (this.#failures === 0) observer.onRecovered?.();
    observer.onChange(kept.all, undefined);
    this.#noteLeftOut();
    this.#startWatch();
  }

  #startWatch(): void {
    const { source, clock, observer } = this.#options;
    const version = this.#resourceVersion;
    if (this.#stopped || version === undefined) return;
    let open = true;
    let lasted = false;
    this.#watch = source.watch(version, {
      onOpen: () => {
        if (!open || this.#stopped) return;
        this.#contactAt = clock.now();
        this.#healthy = clock.setTimer(HEALTHY_MS, () => {
          lasted = true;
          this.#failures = 0;
          observer.onRecovered?.();
        });
      },
      onEvent: (event) => {
        if (open) this.#apply(event);
      },
      onEnd: (status, reason) => {
        if (!open) return;
        open = false;
        this.#healthy?.cancel();
        this.#watch = undefined;
        const wasAway = !lasted && (status === undefined || status >= SERVER_ERROR);
        if (status === GONE || wasAway) this.#resourceVersion = undefined;
        // Every watch ends at some time. The next one begins at once, as events wait for it.
        if (lasted && status === undefined) this.#continueAfter(0);
        else this.#retry(reason);
      },
    });
  }

  #apply({ type, object }: WatchEvent<T>): void {
    this.#contactAt = this.#options.clock.now();
    const version = object.metadata?.resourceVersion;
    if (version !== undefined) this.#resourceVersion = version;
    if (type === 'BOOKMARK') return;
    const key = type === 'DELETED' ? this.#kept.delete(object) : this.#kept.set(object);
    this.#options.observer.onChange(this.#kept.all, key);
    this.#noteLeftOut();
    if (this.#kept.hasRoomAgain) this.#listAgain();
  }

  #noteLeftOut(): void {
    const some = this.#kept.leftOut > 0;
    if (some === this.#someLeftOut) return;
    this.#someLeftOut = some;
    this.#options.observer.onLeftOut?.(some);
  }

  #listAgain(): void {
    this.#watch?.stop();
    this.#healthy?.cancel();
    this.#watch = undefined;
    this.#resourceVersion = undefined;
    this.#retry('objects were left out, and have room again');
  }

  #retry(reason: string): void {
    if (this.#stopped) return;
    const { random, observer } = this.#options;
    this.#failures += 1;
    // One end of a watch is normal.
    if (this.#failures > 1 || !this.synced) observer.onTrouble?.(reason);
    const wait = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 10));
    this.#continueAfter(wait * (0.5 + random.next() / 2));
  }

  #continueAfter(delayMs: Millis): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      if (this.#resourceVersion === undefined) void this.#list();
      else this.#startWatch();
    });
  }
}
