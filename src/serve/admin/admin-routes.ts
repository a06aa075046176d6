import type { ServerResponse } from 'node:http';
import type { Scope } from './access.ts';
import { indexPage } from './index-page.ts';

export interface Readiness {
  readonly ok: boolean;
  /** Degraded: ready, with something that a person should look at. */
  readonly state: 'ready' | 'degraded' | 'not ready';
  /** Sentences that say why it is not ready, or degraded. */
  readonly reasons: readonly string[];
  /** The numbers, as JSON. */
  readonly detail: unknown;
}

/** What an admin port serves. */
export interface AdminPages {
  /** What Prometheus reads, in the format that the `Accept` header takes. */
  readonly metricsPage: (accept: string | undefined) => Promise<MetricsDocument>;
  readonly ready: () => Readiness;
  /** JSON documents by path. An HttpError that one throws becomes the answer. */
  readonly documents: ReadonlyMap<string, AdminRoute>;
  /** Actions by path, which answer only POST with JSON. All their parameters are in the query. */
  readonly actions?: ReadonlyMap<string, AdminRoute> | undefined;
  /** Pages that take a while to make, such as profiles, by path: JSON. For those who may read. */
  readonly slowPages?: ReadonlyMap<string, (query: URLSearchParams) => Promise<string>> | undefined;
  /** Files that hold nothing of the picker, by path. */
  readonly files?: ReadonlyMap<string, AdminFile> | undefined;
  /** Answers that go on until the client leaves, by path. For those who may read. */
  readonly streams?: ReadonlyMap<string, AdminStream> | undefined;
}

/** The metrics: the text, or its bytes in order. */
export interface MetricsDocument {
  readonly contentType: string;
  readonly body: string | readonly Uint8Array[];
}

/** Answers a request with a JSON value. */
export type AdminRoute = (query: URLSearchParams) => unknown;

export interface AdminFile {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: () => Uint8Array;
}

/** Takes over an answer of server-sent events. Undefined, or why it does not. */
export type AdminStream = (response: ServerResponse) => string | undefined;

/** The status of an answer, with a sentence that says what is wrong with the request. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: 400 | 404;

  constructor(status: 400 | 404, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | readonly Uint8Array[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes the answer in place of `body`. */
  readonly stream?: AdminStream;
}

/** A path: who may ask for it, how, and the answer. */
export interface ServedPath {
  readonly scope: Scope;
  readonly methods: readonly string[];
  readonly reply: (query: URLSearchParams, accept: string | undefined) => Reply | Promise<Reply>;
}

/** The paths that a person who knows only the port looks at first. */
const INDEX = ['/', '/debug'];
/** The files of the page are of no use by themselves. */
const PAGE_FILES = '/ui/';
const JSON_PAGE = { status: 200, contentType: 'application/json' } as const;
const EVENTS = { status: 200, contentType: 'text/event-stream', body: '' } as const;
const READ = ['GET', 'HEAD'];
const DO = ['POST'];

type Route = readonly [path: string, served: ServedPath];

/** All paths of an admin port. */
export function routesOf(pages: AdminPages): ReadonlyMap<string, ServedPath> {
  const routes = new Map([...statePages(pages), ...readPages(pages), ...filesAndActions(pages)]);
  return new Map([...routes, ...indexPages(routes)]);
}

function reading(path: string, scope: Scope, reply: ServedPath['reply']): Route {
  return [path, { scope, methods: READ, reply }];
}

/** What monitoring asks for. */
function statePages({ metricsPage, ready }: AdminPages): readonly Route[] {
  return [
    reading('/metrics', 'metrics', async (_query, accept) => ({
      status: 200,
      headers: { vary: 'accept' },
      ...(await metricsPage(accept)),
    })),
    reading('/healthz', 'open', () => json(200, { ok: true })),
    reading('/readyz', 'open', () => {
      const readiness = ready();
      return json(readiness.ok ? 200 : 503, readiness);
    }),
  ];
}

/** JSON for those who may read. */
function readPages({ documents, slowPages = new Map() }: AdminPages): readonly Route[] {
  return [
    ...[...documents].map(([path, document]) =>
      reading(path, 'read', (query) => json(200, document(query))),
    ),
    ...[...slowPages].map(([path, page]) =>
      reading(path, 'read', async (query) => ({ ...JSON_PAGE, body: await page(query) })),
    ),
  ];
}

function filesAndActions({
  files = new Map(),
  streams = new Map(),
  actions = new Map(),
}: AdminPages): readonly Route[] {
  return [
    ...[...files].map(([path, { contentType, headers, bytes }]) =>
      reading(path, 'file', () => ({ status: 200, contentType, headers, body: [bytes()] })),
    ),
    ...[...streams].map(([path, stream]): Route => {
      return [path, { scope: 'read', methods: ['GET'], reply: () => ({ ...EVENTS, stream }) }];
    }),
    ...[...actions].map(([path, act]): Route => {
      return [path, { scope: 'change', methods: DO, reply: (query) => json(200, act(query)) }];
    }),
  ];
}

/** Pages that list the others. */
function indexPages(routes: ReadonlyMap<string, ServedPath>): readonly Route[] {
  const paths = [...routes].filter(([, { methods }]) => methods.includes('GET'));
  const listed = namedPaths(paths.map(([path]) => path));
  return INDEX.map((path) =>
    reading(path, 'open', (_query, accept) => ({ status: 200, ...indexPage(listed, accept) })),
  );
}

/** The paths that people ask for. The page first, where there is one. */
export function namedPaths(paths: Iterable<string>): readonly string[] {
  const named = [...paths].filter((path) => !(path.startsWith(PAGE_FILES) || INDEX.includes(path)));
  return named.toSorted((a, b) => Number(b === '/ui') - Number(a === '/ui'));
}

/** JSON has no infinity: an infinite age becomes null. */
export function json(status: number, value: unknown): Reply {
  return {
    status,
    contentType: 'application/json',
    body: `${JSON.stringify(value, undefined, 2)}\n`,
  };
}
