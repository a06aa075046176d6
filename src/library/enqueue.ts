import type { InferenceRequest } from '../framework/request.ts';
import type { Placement, RoutedRequest, RouteOptions } from '../framework/routing.ts';
import type { ControlledRouter } from '../picker/flow-control/controlled-router.ts';

/** What has to be prepared does not read it. */
const NO_BODY: readonly Uint8Array[] = [];

/** Undefined where it waits: for flow control, for another process, or for its endpoint. */
export function enqueued(
  router: ControlledRouter,
  request: InferenceRequest,
  placement: Placement,
  given?: RouteOptions,
): RoutedRequest | undefined {
  const options = { firstTokenVisible: true, ...given };
  const place = (): RoutedRequest | undefined =>
    router.enqueue === undefined
      ? router.route(request, options)
      : router.enqueue(request, options, placement);
  const ready = (): void => {
    let routed: RoutedRequest | undefined;
    try {
      routed = place();
    } catch (error) {
      placement.refused(error);
      return;
    }
    if (routed !== undefined) placement.placed(routed);
  };
  const waits = router.prepare?.(request, NO_BODY, ready, options) === true;
  return waits ? undefined : place();
}

/** Waits until the request is placed, or the signal ends the wait. */
export async function placedBy(
  router: ControlledRouter,
  request: InferenceRequest,
  { signal, ...options }: RouteOptions & { readonly signal?: AbortSignal } = {},
): Promise<RoutedRequest> {
  signal?.throwIfAborted();
  let isGone = false;
  let resolve: (routed: RoutedRequest) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  // Node 20, on which the library has to run, has no `Promise.withResolvers`.
  const promise = new Promise<RoutedRequest>((...both) => {
    [resolve, reject] = both;
  });
  const placed = (routed: RoutedRequest): void => {
    // What prepares the request is not cancelled, and may end after the signal.
    if (isGone) routed.done('aborted');
    else resolve(routed);
  };
  const placement = { placed, refused: reject };
  const routed = enqueued(router, request, placement, options);
  if (routed !== undefined) return routed;
  const cancel = (): void => {
    isGone = true;
    router.cancel?.(placement);
    router.abandon(request);
    reject(signal?.reason);
  };
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}
