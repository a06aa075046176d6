import type { ExtProcServerOptions } from '../extproc/server/server.ts';
import type { SessionOptions } from '../extproc/session/session.ts';
import { ConfigError } from '../framework/error.ts';
import { KeyedHash } from '../framework/keyed-hash.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { IoWorkersOptions } from '../io-workers/io-workers.ts';
import type { Preparing } from '../io-workers/remote-router.ts';
import { readHeaderFields } from '../openai/body/header-fields.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { ExtProcParts } from './ext-proc-options.ts';
import { identityBy } from './request-readers.ts';
import type { ServeOptions } from './serve-options.ts';

export interface IoWorkersParts extends ExtProcParts {
  readonly seed: number;
  readonly secret: Uint32Array;
}

/** Options of the server in I/O workers, which answers as the one of `served` would. */
export function ioWorkersOptions(
  options: ServeOptions,
  { seed, secret, onIgnored, tls, ...parts }: IoWorkersParts,
  served: Omit<ExtProcServerOptions, 'session'> & {
    readonly session: Omit<SessionOptions, 'newRequestId'>;
  },
): IoWorkersOptions {
  const { ioWorkers: workers = 0, log, bodyBytesMax, emitEndpointScores = false } = options;
  const { session, clock, limits, times, onClientFault } = served;
  const { trustClientControls = false, grpcStreamMetrics = false } = options;
  const { propagatesPriority } = parts;
  return {
    workers,
    host: served.host,
    port: served.port,
    healthPort: served.healthPort,
    clock,
    log,
    tls: tls.credentials,
    limits,
    given: {
      bodyBytesMax,
      earlyPickBytes: options.earlyPickBytes,
      halfCloseAfterPick: options.halfCloseAfterPick,
      ignoreSubset: options.disableEndpointSubsetFilter === true,
      emitEndpointScores,
      trustClientControls,
      seed,
      secret,
      follows: session.follow !== undefined,
      times: times === undefined ? 'none' : grpcStreamMetrics ? 'streams' : 'messages',
    },
    reading: () => ({
      priorities: parts.rules.priorities,
      rewrites: parts.rules.rewrites,
      parsers: parts.parsers(),
      propagatesPriority: propagatesPriority(),
      answersReservations: session.answersReservations?.() === true,
      preparing: preparingOf(parts),
    }),
    link: {
      ...session,
      times,
      identified: identifiedRequests(parts.picker, secret),
      placedOptions: () => ({ withLabels: propagatesPriority(), withScores: emitEndpointScores }),
      onIgnored: (control) => onIgnored?.(control),
      onClientFault: (fault) => onClientFault?.(fault),
    },
  };
}

/** Plugins that answer for each answer while the proxy waits. */
const REPORTERS: readonly string[] = ['request-attribute-reporter'];

/** Throws ConfigError for what I/O workers cannot do. */
export function checkIoWorkers(
  { ioWorkers = 0, observe = false }: Pick<ServeOptions, 'ioWorkers' | 'observe'>,
  { plugins }: Pick<PickerPlan, 'plugins'>,
  observers: readonly object[] = [],
): void {
  if (ioWorkers === 0) return;
  const refuse = (message: string): never => {
    throw new ConfigError('command line', [{ path: '--io-workers', message }]);
  };
  if (observe) refuse('cannot be used with --observe, which decides nothing: leave it out');
  const planned = plugins.find(({ definition }) => REPORTERS.includes(definition.type))?.name;
  if (planned !== undefined || observers.some((each) => 'responseMetadata' in each)) {
    const which = planned ?? 'of --plugin that has responseMetadata';
    refuse(
      `cannot be used with plugin ${which}: it reports at the end of each answer, which would ` +
        'have to wait for it. Leave out one of them',
    );
  }
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
    return { ...request, headers, fairnessId: readHeaderFields(headers, hash).fairnessId };
  };
}
