import { vi } from 'vitest';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import { DEFAULT_MEDIA } from '../../src/framework/prompt-reading.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type {
  Placement,
  RoutedRequest,
  RouteOptions,
  Router,
} from '../../src/framework/routing.ts';
import type { Batch } from '../../src/io-workers/batch.ts';
import { CoreLink, type CoreLinkOptions } from '../../src/io-workers/core-link.ts';
import type { ReadingRules } from '../../src/io-workers/io-worker-setup.ts';
import { RemoteFollowing } from '../../src/io-workers/remote-following.ts';
import { RemoteRouter } from '../../src/io-workers/remote-router.ts';
import { TurnOutbox } from '../../src/io-workers/turn-outbox.ts';
import { makeEndpoint } from '../makers.ts';
import { inertRouted } from './session/inert-routed.ts';

/** How a worker reads requests where nothing is configured. */
export const PLAIN_READING: ReadingRules = {
  priorities: new Map(),
  rewrites: [],
  parsers: [],
  propagatesPriority: false,
  prompts: { referenceText: false, media: DEFAULT_MEDIA },
  answersEndpointOnly: false,
  preparing: 'nothing',
};

interface LinkedThreads {
  readonly worker: RemoteRouter;
  readonly following: RemoteFollowing;
  readonly core: CoreLink;
  /** Runs all turns and delivers all messages, until nothing is left. */
  settle(): void;
  /** Messages delivered so far. */
  batches(): number;
}

/** Both ends of a link without threads. Messages are copied as between threads. */
export function linked(router: Router, given: Partial<CoreLinkOptions> = {}): LinkedThreads {
  const tasks: (() => void)[] = [];
  const afterTurn = (task: () => void): void => void tasks.push(task);
  const sent: { to: 'core' | 'worker'; batch: Batch }[] = [];
  const sender = (to: 'core' | 'worker') => (batch: Batch, moved: readonly ArrayBuffer[]) =>
    void sent.push({ to, batch: structuredClone(batch, { transfer: [...moved] }) });
  const toCore = new TurnOutbox(sender('core'), afterTurn);
  const core = new CoreLink(
    {
      router,
      identified: (request) => request,
      placedOptions: () => ({ withLabels: true, withScores: true }),
      onFault: vi.fn(),
      onRefused: vi.fn(),
      onIgnored: vi.fn(),
      onClientFault: vi.fn(),
      ...given,
    },
    new TurnOutbox(sender('worker'), afterTurn),
  );
  const following = new RemoteFollowing(toCore);
  const worker = new RemoteRouter(toCore, (id, trace) => following.setTraceparent(id, trace));
  let batches = 0;
  const settle = (): void => {
    while (tasks.length + sent.length > 0) {
      for (const task of tasks.splice(0)) task();
      for (const { to, batch } of sent.splice(0)) {
        batches += 1;
        if (to === 'core') core.receive(batch);
        else worker.receive(batch);
      }
    }
  };
  return { worker, following, core, settle, batches: () => batches };
}

/** What comes of an enqueued request. */
export function placement(): Placement & { routed: RoutedRequest | undefined; error: unknown } {
  return {
    routed: undefined,
    error: undefined,
    placed(routed) {
      this.routed = routed;
    },
    refused(error) {
      this.error = error;
    },
  };
}

export const OPTIONS: RouteOptions = {
  subset: ['10.0.0.1'],
  firstTokenVisible: true,
  endVisible: false,
};
const pod: Endpoint = makeEndpoint('pod', { labels: { engine: 'vllm' } });

/** What is reported to a routed request, in order. */
export function recorded(
  request: InferenceRequest,
  more: Partial<RoutedRequest> = {},
): { readonly routed: RoutedRequest; readonly calls: unknown[][] } {
  const calls: unknown[][] = [];
  const note =
    (name: string) =>
    (...args: unknown[]): void =>
      void calls.push([name, ...args.filter((each) => each !== undefined)]);
  const routed: RoutedRequest = {
    ...inertRouted({ request, destinations: ['pod:8000', 'next:8000'], done: note('done') }),
    endpoint: pod,
    headers: new Map([['x-a', '1']]),
    scored: [{ endpoint: pod, score: 0.5 }],
    streams: note('streams'),
    firstToken: note('firstToken'),
    served: note('served'),
    loadReported: note('loadReported'),
    windowReported: note('windowReported'),
    answered: note('answered'),
    bodyRead: ({ bodyBytes }) => void calls.push(['bodyRead', bodyBytes]),
    ...more,
  };
  return { routed, calls };
}
