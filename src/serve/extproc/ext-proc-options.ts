import type { RequestRules } from '../../endpoints/rewrites/request-rules.ts';
import type { ExtProcServerOptions } from '../../extproc/server/ext-proc-server.ts';
import type { ObserverSessionOptions } from '../../extproc/session/observer-session.ts';
import type { SessionOptions } from '../../extproc/session/session.ts';
import type { SessionSettings } from '../../extproc/session/session-rules.ts';
import type { RoutingErrorCode } from '../../framework/error.ts';
import type { Router } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { HashSecret } from '../../framework/values/keyed-hash.ts';
import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import { streamTimes } from '../../journal/metrics/answers/stream-metrics.ts';
import type { PickerMetrics } from '../../journal/metrics/metrics.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { limitedLines, limitedWarnings } from '../../runtime/log/limited-log.ts';
import type { Log } from '../../runtime/log/log.ts';
import { Counter, type Registry } from '../../runtime/prom-client.ts';
import type { Telemetry } from '../../telemetry/start-telemetry.ts';
import type { LiveCounts } from '../live/live-counts.ts';
import type { RequestOptions, ServeOptions } from '../options/serve-options.ts';
import type { ServeTls } from '../tls/start-tls.ts';
import { localAnswers } from './local-answers.ts';
import type { RequestReading } from './request-reading.ts';
import { servedReaders } from './served-readers.ts';

/**
 * Refusals that affect many clients, and whose limit an operator can change: these are also warned
 * of. `LIMIT_REFUSALS`, which are counted, has others, too.
 */
const WARNED_REFUSALS: ReadonlySet<RoutingErrorCode> = new Set(['memory-full', 'too-many-streams']);

/** A flood of refused requests must not fill the log; each is counted in metrics anyway. */
const REFUSED_LINES = { perSecond: 10, atOnce: 10 };

export interface ExtProcParts extends RequestReading {
  readonly picker: EndpointPicker;
  /** The picker behind flow control. */
  readonly router: Router;
  readonly metrics: PickerMetrics;
  readonly rules: RequestRules;
  readonly secret: HashSecret;
  readonly tls: ServeTls;
  readonly clock: Clock;
  readonly telemetry: Telemetry | undefined;
  readonly live: Pick<LiveCounts, 'onRefused'>;
  /** Keeps refused requests, to be explained; undefined where nothing is. */
  readonly recorder: Pick<DecisionRecorder, 'refusals'> | undefined;
  /** Called with the name of a control of a client that is ignored; undefined: none is. */
  readonly onIgnored: ((control: string) => void) | undefined;
}

/** Options of the ext_proc server. */
export function extProcOptions(options: ServeOptions, parts: ExtProcParts): ExtProcServerOptions {
  const { log, listen, requests, observe = false } = options;
  const { picker, metrics } = parts;
  const reading = { router: picker, ...servedReaders(options, parts) };
  return {
    host: listen.host,
    port: listen.extProcPort,
    healthPort: listen.healthPort,
    tls: parts.tls.credentials,
    onClientFault: parts.tls.onClientFault,
    messageBytesMax: requests.bodyBytesMax,
    limits: requests.limits,
    times: streamTimes(metrics, options.metrics.grpcStreamMetrics),
    clock: parts.clock,
    session: observe
      ? { observer: { ...reading, ...observerCallbacks(picker, metrics.registry, log) } }
      : {
          ...reading,
          router: parts.router,
          respond: localAnswers(picker),
          answersEndpointOnly: () => picker.observers().some(answersEndpointOnly),
          ...sessionSettings(requests),
          follow: parts.telemetry?.follow,
          ...troubleCallbacks(log, parts),
        },
  };
}

/**
 * Gives requests that are refused or fail here to the live page, metrics, explanations and the log.
 */
function troubleCallbacks(
  log: Log,
  { metrics, live, recorder, clock }: ExtProcParts,
): Pick<SessionOptions, 'onFault' | 'onRefused'> {
  const warn = limitedWarnings(log, clock);
  const refused = limitedLines(log.info.bind(log), clock, REFUSED_LINES);
  return {
    onFault: (error, about) => {
      live.onRefused();
      log.error({ err: error, ...about }, 'a request failed in the picker and got status 500');
    },
    onRefused: (error, request, about) => {
      const { code, sentence } = error;
      live.onRefused();
      metrics.countError(code, request);
      const model = request?.rewrite?.requestedModel ?? request?.model;
      recorder?.refusals.add({ error, model, requestId: about.requestId ?? '' });
      refused({ code, sentence, ...(model && { model }), ...about }, 'request refused');
      if (WARNED_REFUSALS.has(code)) warn({ code, sentence }, `requests are refused: ${code}`);
    },
  };
}

/** How sessions pick and answer, in this thread and in I/O workers. */
export function sessionSettings({
  earlyPickBytes,
  halfCloseAfterPick,
  disableEndpointSubsetFilter: ignoreSubset,
  emitEndpointScores,
  loadReports: asksLoadReports,
}: RequestOptions): SessionSettings {
  return { earlyPickBytes, halfCloseAfterPick, ignoreSubset, emitEndpointScores, asksLoadReports };
}

/** Callbacks of an observer of another picker: the pool, a counter and the log. */
function observerCallbacks(
  picker: EndpointPicker,
  registry: Registry,
  log: Log,
): Pick<ObserverSessionOptions, 'knows' | 'onBooked' | 'onUnbooked' | 'onFault'> {
  const requests = new Counter({
    name: 'pointsman_observed_requests_total',
    help: 'Requests that another picker decided, by outcome: booked, or why they could not be followed.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return {
    knows: (address) => picker.pool.snapshot().some((endpoint) => endpoint.address === address),
    onBooked: () => requests.inc({ outcome: 'booked' }),
    onUnbooked: (outcome, detail) => {
      requests.inc({ outcome });
      log.debug({ outcome, detail }, 'a request of the observed picker cannot be followed');
    },
    onFault: (error) => {
      requests.inc({ outcome: 'fault' });
      log.error({ err: error }, 'the observer failed on a request, which continued without it');
    },
  };
}

function answersEndpointOnly(plugin: object): boolean {
  return 'answersEndpointOnly' in plugin && plugin.answersEndpointOnly === true;
}
