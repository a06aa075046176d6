import { Dispatcher } from 'undici';
import type { ApiAccess } from '../../../src/endpoints/discovery/kubernetes/api/api-access.ts';
import type { RuleObject } from '../../../src/endpoints/discovery/kubernetes/rules/rule-objects.ts';
import type { Clock, Millis, Random } from '../../../src/framework/runtime.ts';

const GROUP = 'llm-d.ai';
export const PLURALS = ['inferenceobjectives', 'inferencemodelrewrites'] as const;
type Plural = (typeof PLURALS)[number];

/** The client ends what brings no answer for so long; here the server does. */
const SILENT_MS: Millis = 30_000;

interface Change {
  readonly version: number;
  readonly plural: Plural;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: RuleObject;
}

/** One request and its answer, which may have no end. */
interface Exchange {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly start: (status: number) => void;
  readonly write: (text: string) => void;
  readonly end: () => void;
  readonly fail: () => void;
}

interface Watching {
  readonly plural: Plural;
  readonly apiVersion: string;
  readonly exchange: Exchange;
}

/**
 * An API server in this process, without sockets, that has the kinds of rules of `llm-d.ai`. It shows
 * objectives in two versions, each without the fields of the other.
 */
export class FakeRulesApi {
  /** The part of requests that it answers wrongly, or not at all. */
  faults = 0;
  /** Whether it has the kinds in any version. */
  isInstalled = true;
  /** How many requests of each kind came: to show that something was tried. */
  readonly counts = { lists: 0, watches: 0, faults: 0, gone: 0 };
  readonly objects: Readonly<Record<Plural, Map<string, RuleObject>>> = {
    inferenceobjectives: new Map(),
    inferencemodelrewrites: new Map(),
  };
  readonly #random: Random;
  readonly #clock: Pick<Clock, 'setTimer'>;
  #version = 1;
  #oldest = 0;
  #history: Change[] = [];
  readonly #watches = new Set<Watching>();

  constructor(random: Random, clock: Pick<Clock, 'setTimer'>) {
    this.#random = random;
    this.#clock = clock;
  }

  get access(): ApiAccess {
    return {
      server: 'http://api.invalid',
      credentials: async () => ({
        headers: {},
        dispatcher: new FakeDispatcher((exchange) => this.#answer(exchange)),
      }),
    };
  }

  /** Adds or replaces an object; undefined deletes it. */
  put(plural: Plural, name: string, object: RuleObject | undefined): void {
    const before = this.objects[plural].get(name);
    const shown = object ?? before;
    if (shown === undefined) return;
    this.#version += 1;
    const metadata = { ...shown.metadata, name, resourceVersion: String(this.#version) };
    const after = { ...shown, metadata };
    if (object === undefined) this.objects[plural].delete(name);
    else this.objects[plural].set(name, after);
    const type = object === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    const change: Change = { version: this.#version, plural, type, object: after };
    this.#history.push(change);
    for (const watching of this.#watches) tell(watching, change);
  }

  /** Forgets former versions: who watches from one of them must list again. */
  compact(): void {
    this.#oldest = this.#version;
    this.#history = [];
  }

  /** Ends all watches, also within an event, and as no server should. */
  cutWatches(): void {
    for (const watching of this.#watches) {
      const { exchange } = watching;
      this.#watches.delete(watching);
      const how = this.#random.next();
      if (how < 0.2) exchange.write('{"type":"ADDED","obj');
      else if (how < 0.4) exchange.write('no event\n');
      else if (how < 0.5) exchange.write('{"type":"ADDED","object":null}\n');
      else if (how < 0.6) exchange.write('{"type":"ERROR","object":{"code":410}}\n');
      if (how < 0.8) exchange.end();
      else exchange.fail();
    }
  }

  #answer(exchange: Exchange): void {
    if (this.#random.next() < this.faults) return this.#answerWrongly(exchange);
    const [, , group, apiVersion = '', , , plural] = exchange.path.split('/');
    const versions = plural === 'inferencemodelrewrites' ? ['v1alpha2'] : ['v1', 'v1alpha2'];
    if (group !== GROUP || !this.isInstalled || !versions.includes(apiVersion)) {
      return answerAll(exchange, 404, { kind: 'Status', code: 404 });
    }
    if (plural === undefined) {
      const names = PLURALS.filter((_, at) => at === 0 || apiVersion === 'v1alpha2');
      return answerAll(exchange, 200, { resources: names.map((name) => ({ name })) });
    }
    const kind = plural as Plural;
    if (exchange.query.get('watch') === 'true') return this.#watch(exchange, kind, apiVersion);
    this.counts.lists += 1;
    const all = [...this.objects[kind].values()].map((each) => shownIn(each, apiVersion));
    // In several pages: the version of the list is that of the last one.
    const from = Number(exchange.query.get('continue') ?? 0);
    const more = from + 3 < all.length ? { continue: String(from + 3) } : {};
    const metadata = { resourceVersion: String(this.#version), ...more };
    answerAll(exchange, 200, { metadata, items: all.slice(from, from + 3) });
  }

  #watch(exchange: Exchange, plural: Plural, apiVersion: string): void {
    this.counts.watches += 1;
    const from = Number(exchange.query.get('resourceVersion'));
    if (from < this.#oldest) {
      this.counts.gone += 1;
      if (this.#random.next() < 0.5) return answerAll(exchange, 410, { code: 410 });
      exchange.start(200);
      exchange.write('{"type":"ERROR","object":{"code":410}}\n');
      exchange.end();
      return;
    }
    exchange.start(200);
    const watching = { plural, apiVersion, exchange };
    for (const change of this.#history) if (change.version > from) tell(watching, change);
    this.#watches.add(watching);
  }

  #answerWrongly(exchange: Exchange): void {
    this.counts.faults += 1;
    const how = Math.floor(this.#random.next() * 8);
    const status = [401, 429, 500, 503][how];
    if (status !== undefined) return answerAll(exchange, status, { code: status });
    if (how === 4) exchange.fail();
    if (how === 5) answerAll(exchange, 200, { items: 'none' });
    if (how === 6) {
      exchange.start(200);
      exchange.write('{"items":[');
      exchange.end();
    }
    if (how === 7) this.#clock.setTimer(SILENT_MS, () => exchange.fail());
  }
}

function answerAll(exchange: Exchange, status: number, body: object): void {
  exchange.start(status);
  exchange.write(JSON.stringify(body));
  exchange.end();
}

function tell({ plural, apiVersion, exchange }: Watching, change: Change): void {
  if (change.plural !== plural) return;
  const object = shownIn(change.object, apiVersion);
  exchange.write(`${JSON.stringify({ type: change.type, object })}\n`);
}

/** Fields that a version does not have are dropped. */
function shownIn(object: RuleObject, apiVersion: string): RuleObject {
  const { spec } = object;
  if (typeof spec !== 'object' || spec === null || 'rules' in spec) return object;
  const { poolRef, poolRefs, poolSelector, ...rest } = spec as Readonly<Record<string, unknown>>;
  const own = apiVersion === 'v1' ? { poolRefs, poolSelector } : { poolRef };
  return { ...object, spec: { ...rest, ...own } };
}

/** Gives each request to `answer`, in a turn of its own. */
class FakeDispatcher extends Dispatcher {
  readonly #answer: (exchange: Exchange) => void;

  constructor(answer: (exchange: Exchange) => void) {
    super();
    this.#answer = answer;
  }

  override dispatch(
    { path }: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const url = new URL(path, 'http://api.invalid');
    let isOver = false;
    const fail = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      handler.onResponseError?.(controller, error);
    };
    const unlessOver =
      <Given extends readonly unknown[]>(act: (...given: Given) => void) =>
      (...given: Given): void => {
        if (!isOver) act(...given);
      };
    const controller: Dispatcher.DispatchController = {
      aborted: false,
      paused: false,
      reason: null,
      rawHeaders: null,
      rawTrailers: null,
      abort: fail,
      pause: () => undefined,
      resume: () => undefined,
    };
    const exchange: Exchange = {
      path: url.pathname,
      query: url.searchParams,
      start: unlessOver((status) => handler.onResponseStart?.(controller, status, {}, '')),
      write: unlessOver((text) => handler.onResponseData?.(controller, Buffer.from(text))),
      end: unlessOver(() => {
        isOver = true;
        handler.onResponseEnd?.(controller, {});
      }),
      fail: () => fail(new Error('other side closed')),
    };
    handler.onRequestStart?.(controller, {});
    queueMicrotask(() => this.#answer(exchange));
    return true;
  }

  override async close(): Promise<void> {}

  override async destroy(): Promise<void> {}
}
