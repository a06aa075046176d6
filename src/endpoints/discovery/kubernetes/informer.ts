import type { Clock, Millis, Random, Timer } from '../../../framework/runtime.ts';

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
  /** Watches from a version on. */
  watch(resourceVersion: string, hearer: WatchHearer<T>): { stop(): void };
}

export interface WatchHearer<T> {
  /** The server has taken it. */
  onOpen(): void;
  onEvent(event: WatchEvent<T>): void;
  /** Once, however it ends; a status where the server has said why. */
  onEnd(status: number | undefined, reason: string): void;
}

export interface InformerObserver<T> {
  /** After each change, with all that is there, by `namespace/name`; and what of it has changed, unless it was listed anew. */
  onChange(objects: ReadonlyMap<string, T>, changed: string | undefined): void;
  /** It cannot be listed or watched; tried again by itself. */
  onTrouble?(sentence: string): void;
  /** It has been listed, or watched for a while; called often. */
  onRecovered?(): void;
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
/** A server that takes a question and never answers it is asked again. */
const LIST_TIMEOUT_MS = 60_000;
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
  #deadline: Timer | undefined;
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
    this.#deadline?.cancel();
    this.#watch?.stop();
  }

  async #list(): Promise<void> {
    const { source, clock, observer } = this.#options;
    let late = false;
    const deadline = clock.setTimer(LIST_TIMEOUT_MS, () => {
      late = true;
      this.#retry(`the API server has not answered a list for ${LIST_TIMEOUT_MS / 1000} seconds`);
    });
    this.#deadline = deadline;
    let listed: Awaited<ReturnType<ResourceSource<T>['list']>>;
    try {
      listed = await source.list();
    } catch (error) {
      deadline.cancel();
      if (!late) this.#retry(error instanceof Error ? error.message : String(error));
      return;
    }
    deadline.cancel();
    if (late || this.#stopped) return;
    // What is not in the list any more has gone, whether its deletion was seen or not.
    this.#objects = new Map(listed.items.map((item) => [keyOf(item), item]));
    this.#resourceVersion = listed.resourceVersion;
    this.#contactAt = clock.now();
    observer.onRecovered?.();
    observer.onChange(this.#objects, undefined);
    this.#watchOn();
  }

  #watchOn(): void {
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
        if (open) this.#take(event);
      },
      onEnd: (status, reason) => {
        if (!open) return;
        open = false;
        this.#healthy?.cancel();
        this.#watch = undefined;
        if (status === GONE) this.#resourceVersion = undefined;
        // Every watch ends some time. Events wait meanwhile, so the next one begins at once.
        if (lasted && status === undefined) this.#again(0);
        else this.#retry(reason);
      },
    });
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#contactAt = this.#options.clock.now();
    const version = object.metadata?.resourceVersion;
    if (type === 'ERROR') return;
    if (version !== undefined) this.#resourceVersion = version;
    this.#failures = 0;
    this.#options.observer.onRecovered?.();
    if (type === 'BOOKMARK') return;
    const key = keyOf(object);
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, object);
    this.#options.observer.onChange(this.#objects, key);
  }

  #retry(reason: string): void {
    if (this.#stopped) return;
    const { random, observer } = this.#options;
    this.#failures += 1;
    // The first end of a watch is how watches are.
    if (this.#failures > 1 || !this.synced) observer.onTrouble?.(reason);
    const wait = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 10));
    this.#again(wait * (0.5 + random.next() / 2));
  }

  #again(delayMs: Millis): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      if (this.#resourceVersion === undefined) void this.#list();
      else this.#watchOn();
    });
  }
}

function keyOf({ metadata = {} }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
