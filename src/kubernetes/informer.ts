import type { Clock, Millis, Random, Timer } from '../framework/runtime.ts';

/** What every object of the API has. */
export interface KubeObject {
  readonly metadata?: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

/** `ADDED` and `MODIFIED` carry the object, `DELETED` its last state, `BOOKMARK` a version alone, `ERROR` a status. */
export interface WatchEvent<T> {
  readonly type: string;
  readonly object: T;
}

/** One kind of object on an API server, as list and watch give it. */
export interface ResourceSource<T> {
  /** Rejects when the server cannot be asked, or refuses. */
  list(): Promise<{ readonly items: readonly T[]; readonly resourceVersion: string }>;
  /** Watches from a version on. `onEnd` comes once, however it ends; a status where the server has said why. */
  watch(
    resourceVersion: string,
    onEvent: (event: WatchEvent<T>) => void,
    onEnd: (status: number | undefined, reason: string) => void,
  ): { stop(): void };
}

export interface InformerObserver<T> {
  /** After each change, with all that is there: by `namespace/name`. */
  onChange(objects: ReadonlyMap<string, T>): void;
  /** It cannot be listed or watched; tried again by itself. */
  onTrouble?(sentence: string): void;
}

export interface InformerOptions<T> {
  readonly source: ResourceSource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: InformerObserver<T>;
}

/** Waits double from the one to the other, and vary by half, so that many pickers do not come back at once. */
const BACKOFF_MS = 200;
const BACKOFF_MS_MAX = 10_000;
/** A watch that has lasted so long is one: servers that are away end it at once. */
const HEALTHY_MS = 5_000;
const GONE = 410;

/**
 * Keeps a kind of object as the API server has it: a list, then a watch from there, begun again where it ended, and from a new
 * list where the server no longer knows that version. While the server is away the last state stays.
 */
export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  #objects = new Map<string, T>();
  #resourceVersion: string | undefined;
  #watch: { stop(): void } | undefined;
  #timer: Timer | undefined;
  #healthy: Timer | undefined;
  #failures = 0;
  #contactAt: Millis | undefined;
  #stopped = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    void this.#list();
  }

  /** Whether a first list has come. */
  get synced(): boolean {
    return this.#contactAt !== undefined;
  }

  /** While the server is away, since it was last heard of; else 0. Undefined before it ever was. */
  get ageMs(): Millis | undefined {
    if (this.#contactAt === undefined) return undefined;
    return this.#failures > 1 ? this.#options.clock.now() - this.#contactAt : 0;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#healthy?.cancel();
    this.#watch?.stop();
  }

  async #list(): Promise<void> {
    let listed: Awaited<ReturnType<ResourceSource<T>['list']>>;
    try {
      listed = await this.#options.source.list();
    } catch (error) {
      this.#retry(error instanceof Error ? error.message : String(error));
      return;
    }
    if (this.#stopped) return;
    // What is not in the list any more has gone, whether its deletion was seen or not.
    this.#objects = new Map(listed.items.map((item) => [keyOf(item), item]));
    this.#resourceVersion = listed.resourceVersion;
    this.#contactAt = this.#options.clock.now();
    this.#options.observer.onChange(this.#objects);
    this.#watchOn();
  }

  #watchOn(): void {
    const { source, clock } = this.#options;
    const version = this.#resourceVersion;
    if (this.#stopped || version === undefined) return;
    let open = true;
    const healthy = clock.setTimer(HEALTHY_MS, () => {
      this.#failures = 0;
      this.#contactAt = clock.now();
    });
    this.#healthy = healthy;
    this.#watch = source.watch(
      version,
      (event) => {
        if (open) this.#take(event);
      },
      (status, reason) => {
        if (!open) return;
        open = false;
        healthy.cancel();
        this.#watch = undefined;
        if (status === GONE) this.#resourceVersion = undefined;
        this.#retry(reason);
      },
    );
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#contactAt = this.#options.clock.now();
    const version = object.metadata?.resourceVersion;
    if (type === 'ERROR') return;
    if (version !== undefined) this.#resourceVersion = version;
    this.#failures = 0;
    if (type === 'BOOKMARK') return;
    if (type === 'DELETED') this.#objects.delete(keyOf(object));
    else this.#objects.set(keyOf(object), object);
    this.#options.observer.onChange(this.#objects);
  }

  #retry(reason: string): void {
    if (this.#stopped) return;
    const { clock, random, observer } = this.#options;
    this.#failures += 1;
    // The first end of a watch is how watches are.
    if (this.#failures > 1 || !this.synced) observer.onTrouble?.(reason);
    const wait = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 10));
    this.#timer = clock.setTimer(wait * (0.5 + random.next() / 2), () => {
      if (this.#resourceVersion === undefined) void this.#list();
      else this.#watchOn();
    });
  }
}

function keyOf({ metadata = {} }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
