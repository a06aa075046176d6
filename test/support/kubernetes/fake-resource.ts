import type {
  ResourceSource,
  WatchObserver,
} from '../../../src/endpoints/discovery/kubernetes/watch/informer.ts';
import type { KubeObject } from '../../../src/endpoints/discovery/kubernetes/watch/kube-objects.ts';
import type { Clock } from '../../../src/framework/runtime.ts';

interface Change<T> {
  readonly version: number;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** The object with the version of the change. */
  readonly last: T;
}

interface Watching<T> {
  /** Nothing is told of changes up to this version. */
  readonly from: number;
  readonly shows: (object: T) => boolean;
  readonly hearer: WatchObserver<T>;
}

/**
 * One kind of object on a small fake API server, with versions, a limited history, watches that end
 * and lists that fail.
 */
export class FakeResource<T extends KubeObject> implements ResourceSource<T> {
  readonly objects: Map<string, T> = new Map();
  readonly #clock: Clock;
  #version = 1;
  /** Changes in the history, oldest first. */
  #history: Change<T>[] = [];
  readonly #watches = new Set<Watching<T>>();
  up = true;
  /** Accepts requests and answers none. */
  mute = false;
  /** Watches are answered in the call that asks for them. */
  atOnce = false;
  lists = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  list: ResourceSource<T>['list'] = (visit, signal) => this.view(() => true).list(visit, signal);

  watch: ResourceSource<T>['watch'] = (from, hearer) => this.view(() => true).watch(from, hearer);

  /** The objects that a selector matches. */
  view(shows: (object: T) => boolean): ResourceSource<T> {
    return {
      list: (visit) => {
        this.lists += 1;
        if (this.mute) return new Promise(() => undefined);
        if (!this.up) return Promise.reject(new Error('connection refused'));
        for (const object of this.objects.values()) if (shows(object)) visit(object);
        return Promise.resolve(String(this.#version));
      },
      watch: (from, hearer) => this.#watch(from, shows, hearer),
    };
  }

  /** Adds an object or its next version. */
  put(name: string, object: T): void {
    this.#change(name, object);
  }

  remove(name: string): void {
    if (this.objects.has(name)) this.#change(name, undefined);
  }

  bookmark(): void {
    const metadata = { resourceVersion: String(this.#version) };
    for (const { hearer } of this.#watches)
      hearer.onEvent({ type: 'BOOKMARK', object: { metadata } as T });
  }

  /** Drops the history: an older watch must list again. */
  compact(): void {
    this.#history = [];
  }

  /** The objects as they are now, and their version. `restore` takes them back. */
  backup(): { readonly restore: () => void } {
    const [objects, version, history] = [[...this.objects], this.#version, [...this.#history]];
    return {
      restore: () => {
        this.objects.clear();
        for (const [name, object] of objects) this.objects.set(name, object);
        this.#version = version;
        this.#history = [...history];
      },
    };
  }

  cut(): void {
    for (const { hearer } of this.#watches) hearer.onEnd(undefined, 'closed');
  }

  #watch(
    from: string,
    shows: (object: T) => boolean,
    hearer: WatchObserver<T>,
  ): ReturnType<ResourceSource<T>['watch']> {
    let open = true;
    const stop = (): void => {
      open = false;
      this.#watches.delete(watching);
    };
    const end = (status: number | undefined, reason: string): void => {
      if (!open) return;
      stop();
      hearer.onEnd(status, reason);
    };
    const watching: Watching<T> = {
      from: Number(from),
      shows,
      hearer: { ...bound(hearer), onEnd: end },
    };
    const answer = (): void => {
      if (!open) return;
      if (!this.up) return end(undefined, 'connection refused');
      const oldest = this.#history[0]?.version ?? this.#version + 1;
      if (Number(from) < oldest - 1) return end(410, 'too old resource version');
      hearer.onOpen();
      for (const change of this.#history) tell(watching, change);
      if (open) this.#watches.add(watching);
    };
    if (this.atOnce) answer();
    else this.#clock.setTimer(1, answer);
    return { stop };
  }

  #change(name: string, object: T | undefined): void {
    this.#version += 1;
    const before = this.objects.get(name);
    const last = object ?? before;
    if (last === undefined) return;
    const metadata = { ...last.metadata, name, resourceVersion: String(this.#version) };
    const versioned = { ...last, metadata };
    const after = object === undefined ? undefined : versioned;
    if (after === undefined) this.objects.delete(name);
    else this.objects.set(name, after);
    const change = { version: this.#version, before, after, last: versioned };
    this.#history.push(change);
    for (const watching of this.#watches) tell(watching, change);
  }
}

function bound<T>(hearer: WatchObserver<T>): WatchObserver<T> {
  return {
    onOpen: () => hearer.onOpen(),
    onEvent: (event) => hearer.onEvent(event),
    onEnd: (status, reason) => hearer.onEnd(status, reason),
  };
}

/** For a watch with a selector, an object that it no longer matches is deleted. */
function tell<T>({ from, shows, hearer }: Watching<T>, change: Change<T>): void {
  const { version, before, after, last } = change;
  if (version <= from) return;
  const [was, is] = [before, after].map((object) => object !== undefined && shows(object));
  if (is) hearer.onEvent({ type: was ? 'MODIFIED' : 'ADDED', object: last });
  else if (was) hearer.onEvent({ type: 'DELETED', object: last });
}
