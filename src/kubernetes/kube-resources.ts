import { CoreV1Api, CustomObjectsApi, type KubeConfig, Watch } from '@kubernetes/client-node';
import type { KubeObject, ResourceSource, WatchEvent } from './informer.ts';
import type { InferencePool, Pod } from './pool-endpoints.ts';

export interface PoolName {
  readonly namespace: string;
  readonly name: string;
  /** Of the API, `inference.networking.k8s.io` unless it is an older one. */
  readonly group: string;
  readonly version: string;
}

/** One InferencePool. */
export function poolSource(
  config: KubeConfig,
  { namespace, name, group, version }: PoolName,
): ResourceSource<InferencePool> {
  const api = config.makeApiClient(CustomObjectsApi);
  const fieldSelector = `metadata.name=${name}`;
  const plural = 'inferencepools';
  return {
    list: async () => {
      const listed: unknown = await api
        .listNamespacedCustomObject({ group, version, namespace, plural, fieldSelector })
        .catch(explained(`inferencepools.${group} in namespace ${namespace}`));
      const { items, metadata } = listed as ListOf<InferencePool>;
      return { items, resourceVersion: metadata.resourceVersion ?? '' };
    },
    watch: watchOf(config, `/apis/${group}/${version}/namespaces/${namespace}/${plural}`, {
      fieldSelector,
    }),
  };
}

/** Pods of a namespace by their labels. */
export function podSource(
  config: KubeConfig,
  { namespace, labelSelector }: { readonly namespace: string; readonly labelSelector: string },
): ResourceSource<Pod> {
  const api = config.makeApiClient(CoreV1Api);
  return {
    list: async () => {
      const listed = await api
        .listNamespacedPod({ namespace, labelSelector })
        .catch(explained(`pods in namespace ${namespace}`));
      return {
        items: listed.items as readonly Pod[],
        resourceVersion: listed.metadata?.resourceVersion ?? '',
      };
    },
    watch: watchOf(config, `/api/v1/namespaces/${namespace}/pods`, { labelSelector }),
  };
}

interface ListOf<T> {
  readonly items: readonly T[];
  readonly metadata: { readonly resourceVersion?: string };
}

function watchOf<T extends KubeObject>(
  config: KubeConfig,
  path: string,
  selector: Readonly<Record<string, string>>,
): ResourceSource<T>['watch'] {
  return (resourceVersion, onEvent, onEnd) => {
    let stopped = false;
    let abort: AbortController | undefined;
    let status: number | undefined;
    const ended = (error: unknown): void => {
      if (stopped) return;
      stopped = true;
      onEnd(status ?? codeOf(error), messageOf(error));
    };
    new Watch(config)
      .watch(
        path,
        { ...selector, resourceVersion, allowWatchBookmarks: true },
        (type, object: T) => {
          // A watch that is refused begins well, and then says so.
          if (type === 'ERROR') status = (object as { readonly code?: number }).code;
          const event: WatchEvent<T> = { type, object };
          onEvent(event);
        },
        ended,
      )
      .then((controller) => {
        abort = controller;
        if (stopped) controller.abort();
      }, ended);
    return {
      stop: () => {
        stopped = true;
        abort?.abort();
      },
    };
  };
}

/** What to do about it, in one sentence. */
function explained(what: string): (error: unknown) => never {
  return (error) => {
    const code = codeOf(error);
    if (code === 403) {
      throw new Error(
        `not allowed to list ${what}: give the picker’s service account get, list and watch on it`,
      );
    }
    if (code === 404) {
      throw new Error(
        `the API server does not know ${what}: install the Gateway API inference extension’s CRDs`,
      );
    }
    if (code === 401)
      throw new Error(`the API server does not accept the picker’s token for ${what}`);
    throw new Error(`cannot list ${what}: ${messageOf(error)}`);
  };
}

export function codeOf(error: unknown): number | undefined {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const found = typeof code === 'number' ? code : statusCode;
  return typeof found === 'number' ? found : undefined;
}

export function messageOf(error: unknown): string {
  if (error === undefined || error === null) return 'the server has closed the watch';
  if (!(error instanceof Error)) return JSON.stringify(error);
  const { cause, body } = error as { cause?: { message?: string }; body?: unknown };
  const said = saidIn(body);
  if (said !== undefined) return said;
  return cause?.message === undefined ? error.message : `${error.message} (${cause.message})`;
}

/** The sentence in a status of the API server. */
function saidIn(body: unknown): string | undefined {
  try {
    const status: unknown = typeof body === 'string' ? JSON.parse(body) : body;
    const { message } = (status ?? {}) as { message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
