import type { ResourceSource, WatchObserver } from '../watch/informer.ts';
import type { KubeObject } from '../watch/kube-objects.ts';
import type { ApiAccess } from './api-access.ts';
import { type ApiConnection, connectApi } from './api-connection.ts';
import { type ApiRequest, apiStatusOf, explainApiError } from './kubernetes-error.ts';
import { listObjects } from './list-objects.ts';
import type { Pace } from './pace.ts';
import { watchObjects } from './watch-objects.ts';

/** An API server, and the pace at which its answers are read. */
export interface PacedServer {
  readonly access: ApiAccess;
  readonly pace: Pick<Pace, 'run' | 'now'>;
}

interface ObjectKind<T> {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly lean: (object: T) => T;
}

/** Objects of one kind of a custom resource, in one namespace. */
export function objectSource<T extends KubeObject>(
  server: PacedServer,
  { group, version, namespace, plural, selector, lean }: ObjectKind<T>,
): ResourceSource<T> {
  return resourceSource<T>({
    ...server,
    what: `${plural}.${group} in namespace ${namespace}`,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    selector,
    lean,
  });
}

interface Resource<T> extends PacedServer {
  readonly what: ApiRequest['what'];
  readonly clusterWide?: boolean;
  readonly path: string;
  readonly selector: Readonly<Record<string, string>>;
  /** What is accepted of lists and of watches, where that is not all of the objects as JSON. */
  readonly accept?: { readonly list: string; readonly watch: string };
  readonly lean: (object: T) => T;
}

/** Objects at one path of an API server. What is kept of each is what `lean` returns. */
export function resourceSource<T extends KubeObject>(resource: Resource<T>): ResourceSource<T> {
  const { access, pace, lean } = resource;
  const explain = explainerOf(resource);
  return {
    list: async (visit, signal) => {
      let api: ApiConnection | undefined;
      try {
        api = await connectApi(access, resource.accept?.list);
        const each = (object: unknown): void => visit(lean(object as T));
        return await listObjects(api, resource, { pace, signal, visit: each });
      } catch (error) {
        throw new Error(explain('list', error), { cause: error });
      } finally {
        api?.close();
      }
    },
    watch: (resourceVersion, observer) => {
      const stopping = new AbortController();
      void follow(resource, resourceVersion, { observer, signal: stopping.signal }).then(
        ({ error, status }) => {
          if (stopping.signal.aborted) return;
          observer.onEnd(status ?? apiStatusOf(error), explain('watch', error, status));
        },
      );
      return { stop: () => stopping.abort() };
    },
  };
}

/** Ends a watch as if the server no longer had the version: what was seen cannot be relied on. */
const GONE = 410;

/** Resolves when the watch has ended, with the error that ended it, if there was one. */
async function follow<T extends KubeObject>(
  resource: Resource<T>,
  resourceVersion: string,
  { observer, signal }: { readonly observer: WatchObserver<T>; readonly signal: AbortSignal },
): Promise<{ readonly error?: unknown; readonly status?: number }> {
  const { access, pace, lean, accept } = resource;
  let api: ApiConnection | undefined;
  let lost = false;
  const onEvent = (type: string, object: unknown): void => {
    lost = true;
    observer.onEvent({ type, object: type === 'BOOKMARK' ? (object as T) : lean(object as T) });
    lost = false;
  };
  try {
    api = await connectApi(access, accept?.watch);
    const parts = { pace, signal, onOpen: () => observer.onOpen(), onEvent };
    await watchObjects(api, resource, resourceVersion, parts);
    return {};
  } catch (error) {
    return lost ? { error, status: GONE } : { error };
  } finally {
    api?.close();
  }
}

type Explain = (verb: ApiRequest['verb'], error: unknown, status?: number) => string;

function explainerOf({
  access: { server },
  what,
  clusterWide = false,
}: Pick<Resource<never>, 'access' | 'what' | 'clusterWide'>): Explain {
  return (verb, error, status) =>
    explainApiError(error, { verb, what, server, clusterWide }, status);
}
