import type { ExtProcServerOptions } from '../../extproc/server/ext-proc-server.ts';
import type { SessionOptions } from '../../extproc/session/session.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import type { IoWorkersOptions } from '../../io-workers/io-workers.ts';
import type { Preparing } from '../../io-workers/remote-router.ts';
import { readFairnessId } from '../../openai/body/header-fields.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import { type ExtProcParts, sessionSettings } from './ext-proc-options.ts';
import { identityBy } from './served-readers.ts';

export interface IoWorkersParts extends ExtProcParts {
  readonly seed: number;
  readonly secret: Uint32Array;
}

/** The options of the server in this thread. */
type ServedByThread = Omit<ExtProcServerOptions, 'session'> & {
  readonly session: Omit<SessionOptions, 'newRequestId'>;
};

/** Options of the server in I/O workers, which answers as the one of `served` would. */
export function ioWorkersOptions(
  options: ServeOptions,
  parts: IoWorkersParts,
  served: ServedByThread,
): IoWorkersOptions {
  const { session, times, onClientFault } = served;
  return {
    workers: options.listen.ioWorkers ?? 0,
    host: served.host,
    port: served.port,
    healthPort: served.healthPort,
    clock: served.clock,
    log: options.log,
    tls: parts.tls.credentials,
    limits: served.limits,
    given: givenToWorkers(options, parts, served),
    reading: () => readingRules(parts, session),
    onStart: (workers) => parts.rules.readBy(workers),
    link: {
      ...session,
      times,
      identified: identifiedRequests(parts.picker, parts.secret),
      placedOptions: () => ({
        withLabels: parts.propagatesPriority(),
        withScores: options.requests.emitEndpointScores === true,
      }),
      onIgnored: (control) => parts.onIgnored?.(control),
      onClientFault: (fault) => onClientFault?.(fault),
    },
  };
}

/** What a worker is given once, when it starts. */
function givenToWorkers(
  { requests, metrics }: ServeOptions,
  { seed, secret }: Pick<IoWorkersParts, 'seed' | 'secret'>,
  { session, times }: Pick<ServedByThread, 'session' | 'times'>,
): IoWorkersOptions['given'] {
  const followed = metrics.grpcStreamMetrics === true ? 'streams' : 'messages';
  return {
    bodyBytesMax: requests.bodyBytesMax,
    settings: sessionSettings(requests),
    trustClientControls: requests.trustClientControls === true,
    seed,
    secret,
    follows: session.follow !== undefined,
    times: times === undefined ? 'none' : followed,
  };
}

/** How workers read requests. It changes when the configuration is reloaded. */
function readingRules(
  parts: IoWorkersParts,
  session: ServedByThread['session'],
): ReturnType<IoWorkersOptions['reading']> {
  return {
    priorities: parts.rules.priorities,
    rewrites: parts.rules.rewrites,
    parsers: parts.parsers(),
    propagatesPriority: parts.propagatesPriority(),
    prompts: parts.prompts(),
    answersEndpointOnly: session.answersEndpointOnly?.() === true,
    preparing: preparingOf(parts),
  };
}

function preparingOf({ router, picker }: Pick<ExtProcParts, 'router' | 'picker'>): Preparing {
  if (router.prepare === undefined) return 'nothing';
  return picker.prepare === undefined ? 'waits' : 'bodies';
}

/** Gives a request without a fairness id the one that a plugin finds in its headers. */
function identifiedRequests(
  picker: ExtProcParts['picker'],
  secret: ExtProcParts['secret'],
): (request: InferenceRequest) => InferenceRequest {
  const hash = new KeyedHash(secret);
  const identified = identityBy(picker);
  return (request) => {
    const { id, headers: sent } = request;
    const { headers } = identified({ id, path: sent.get(':path') ?? '/', headers: sent });
    if (headers === sent) return request;
    return { ...request, headers, fairnessId: readFairnessId(headers, hash) };
  };
}
