import { type KubeConfig, Watch } from '@kubernetes/client-node';
import { codeOf } from './api-error.ts';
import type { KubeObject, ResourceSource } from './informer.ts';

export interface WatchedResource<T> {
  readonly config: KubeConfig;
  readonly path: string;
  readonly selector: Readonly<Record<string, string>>;
  /** An object with what is kept of it. */
  readonly lean: (object: T) => T;
  /** What to do about an end, in one sentence; the status where it is known already. */
  readonly explained: (verb: 'watch', error: unknown, code?: number) => string;
}

/** As when the server has forgotten the version: what was seen is not to be built upon. */
const GONE = 410;

/** Watches with Kubernetes' own client. */
export function watchResource<T extends KubeObject>({
  config,
  path,
  selector,
  lean,
  explained,
}: WatchedResource<T>): ResourceSource<T>['watch'] {
  return (resourceVersion, hearer) => {
    let stopped = false;
    let abort: AbortController | undefined;
    let status: number | undefined;
    const ended = (error: unknown): void => {
      if (stopped) return;
      stopped = true;
      hearer.onEnd(status ?? codeOf(error), explained('watch', error, status));
    };
    const take = (type: string, object: T): void => {
      if (stopped) return;
      // A watch that is refused begins well, and then says so.
      if (type === 'ERROR') status = (object as { readonly code?: number }).code;
      const isWhole = type !== 'ERROR' && type !== 'BOOKMARK';
      hearer.onEvent({ type, object: isWhole ? lean(object) : object });
    };
    new Watch(config)
      .watch(
        path,
        { ...selector, resourceVersion, allowWatchBookmarks: true },
        (type, object: T) => {
          try {
            take(type, object);
          } catch (error) {
            // The client drops what is thrown here, and the event with it.
            status = GONE;
            ended(error);
            abort?.abort();
          }
        },
        ended,
      )
      .then((controller) => {
        abort = controller;
        if (stopped) controller.abort();
        else hearer.onOpen();
      }, ended);
    return {
      stop: () => {
        stopped = true;
        abort?.abort();
      },
    };
  };
}
