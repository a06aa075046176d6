import type { KubernetesDiscovery } from '../../endpoints/discovery/kubernetes/start-kubernetes.ts';
import type { FollowedName } from '../../endpoints/discovery/names/follow-name.ts';
import { scrapeErrorsOf } from '../../endpoints/scraping/scrape-errors.ts';
import { isFresh } from '../../framework/endpoint.ts';
import type { ReplacementReport } from '../../framework/replacement.ts';
import { countOf, grouped } from '../../framework/values/grouped.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { Replica } from '../../replicas/replica.ts';
import { isoTime } from '../../runtime/clock/iso-time.ts';
import type { OutgoingFiles, RefusedFiles } from '../../runtime/network/client/outgoing-files.ts';
import type { Readiness } from '../admin/admin-routes.ts';
import type { LeaderElection } from '../election/leader-election.ts';
import type { FollowedCertificate } from '../tls/follow-certificate.ts';
import type { ConfigReload } from './config-reload.ts';
import type { ProcessWatch } from './watch-process.ts';

type PortTls = Pick<FollowedCertificate, 'lastError' | 'invalidity'>;

export interface ReadinessParts {
  readonly picker: Pick<EndpointPicker, 'pool' | 'replacement'> & {
    readonly ejector: Pick<EndpointPicker['ejector'], 'ejected'>;
  };
  /** The picker is ready only with this many endpoints that have a fresh sample. */
  readonly readyMinFresh: number;
  /** The age of a sample up to which it is fresh. */
  readonly metricsStaleMs?: number | undefined;
  readonly reload: Pick<ConfigReload, 'lastError'> | undefined;
  readonly discovery:
    | {
        readonly file: { lastError(): string | undefined } | undefined;
        readonly names: { names(): readonly FollowedName[] };
      }
    | undefined;
  readonly kubernetes:
    | Pick<KubernetesDiscovery, 'synced' | 'ageMs' | 'troubles' | 'groups' | 'rulesSynced'>
    | undefined;
  readonly serving?: { readonly trouble: string | undefined } | undefined;
  readonly process?: Pick<ProcessWatch, 'trouble'> | undefined;
  /** TLS of the ext_proc port, and of the metrics port where it has any. */
  readonly tls?: PortTls;
  readonly metricsTls?: PortTls | undefined;
  /** Authorities, certificates and keys of connections to other servers. */
  readonly tlsFiles?: Pick<OutgoingFiles, 'refused'> | undefined;
  readonly recording?: { readonly trouble: string | undefined } | undefined;
  readonly replica?: Pick<Replica, 'trouble'> | undefined;
  readonly election: Pick<LeaderElection, 'leading' | 'holder' | 'trouble'> | undefined;
}

/**
 * What `/readyz` answers. Without a fresh sample requests are still routed, by the load in flight:
 * then the picker is degraded and ready, unless `readyMinFresh` says otherwise.
 */
export function readiness(parts: ReadinessParts, now: number): Readiness {
  const endpoints = parts.picker.pool.snapshot();
  const fresh = endpoints.filter((endpoint) => isFresh(endpoint, now, parts.metricsStaleMs)).length;
  const refused = parts.tlsFiles?.refused() ?? [];
  const numbers = { endpoints: endpoints.length, fresh, refused };
  const against = whyNotReady(parts, numbers);
  // A reason that another one names as its cause is listed once.
  const concerns = whyDegraded(parts, numbers).filter(
    (concern) => !against.some((reason) => reason.endsWith(`: ${concern}`)),
  );
  const ok = against.length === 0;
  const state = !ok ? 'not ready' : concerns.length > 0 ? 'degraded' : 'ready';
  return { ok, state, reasons: [...against, ...concerns], detail: detailOf(parts, numbers) };
}

interface Numbers {
  readonly endpoints: number;
  readonly fresh: number;
  readonly refused: readonly RefusedFiles[];
}

/** The numbers, and what has failed last of each part that can fail. */
function detailOf(parts: ReadinessParts, { endpoints, fresh, refused }: Numbers): object {
  const { picker, discovery, kubernetes, election, reload } = parts;
  const failing = scrapeErrorsOf(picker.pool).failing();
  return {
    endpoints,
    freshEndpoints: fresh,
    failingEndpoints: Object.fromEntries([...failing].filter(([, count]) => count > 0)),
    endpointsFileError: discovery?.file?.lastError(),
    hostNameErrors: Object.fromEntries(failingNames(parts).map(({ name, error }) => [name, error])),
    configError: reload?.lastError(),
    certificateError: parts.tls?.lastError(),
    metricsCertificateError: parts.metricsTls?.lastError(),
    outgoingTlsErrors: refused.map(({ paths, reason, sinceMs }) => ({
      paths,
      since: isoTime(sinceMs),
      reason,
    })),
    replicaTrouble: parts.replica?.trouble,
    schedulerTrouble: schedulerTrouble(picker.replacement())[0],
    captureTrouble: parts.recording?.trouble,
    ...(kubernetes && {
      kubernetesSynced: kubernetes.synced,
      kubernetesAgeMs: kubernetes.ageMs,
      kubernetesTroubles: kubernetes.troubles,
      kubernetesGroups: kubernetes.groups,
      kubernetesRulesSynced: kubernetes.rulesSynced,
    }),
    ...(election && {
      leading: election.leading,
      leader: election.holder,
      leaseError: election.trouble,
    }),
  };
}

function whyNotReady(
  { election, readyMinFresh, serving, picker }: ReadinessParts,
  { endpoints, fresh }: Numbers,
): readonly string[] {
  const cause = picker.pool.whyEmpty;
  return [
    ...(endpoints === 0
      ? [`there are no endpoints${cause === undefined ? '' : `: ${cause}`}`]
      : []),
    ...(fresh < readyMinFresh
      ? [
          `${countOf(fresh, 'endpoint')} ${fresh === 1 ? 'has' : 'have'} a fresh sample; --ready-min-fresh is ${grouped(readyMinFresh)}`,
        ]
      : []),
    ...((election?.leading ?? true) ? [] : ['another picker leads']),
    ...(serving?.trouble === undefined ? [] : [serving.trouble]),
  ];
}

function ejectedText(ejected: number, endpoints: number): string {
  const is = ejected === 1 ? 'is ejected because it fails' : 'are ejected because they fail';
  return `${grouped(ejected)} of ${grouped(endpoints)} endpoints ${is}`;
}

function whyDegraded(
  parts: ReadinessParts,
  { endpoints, fresh, refused }: Numbers,
): readonly string[] {
  const { discovery, kubernetes, reload, election, process, picker, replica, recording } = parts;
  const { ejector, pool } = picker;
  const ejected = pool.snapshot().filter((each) => ejector.ejected(each) !== undefined).length;
  const unresolved = failingNames(parts).length;
  const late = process?.trouble();
  return [
    ...(late === undefined ? [] : [late]),
    ...(fresh < endpoints && isSampled(pool)
      ? [`${grouped(fresh)} of ${grouped(endpoints)} endpoints have a fresh sample`]
      : []),
    ...(ejected > 0 ? [ejectedText(ejected, endpoints)] : []),
    ...schedulerTrouble(picker.replacement()),
    ...(unresolved > 0
      ? [`${unresolved} of ${namesOf(parts).length} host names cannot be resolved`]
      : []),
    ...(discovery?.file?.lastError() === undefined ? [] : ['the endpoints file is refused']),
    ...(reload?.lastError() === undefined ? [] : ['the configuration file is refused']),
    ...certificateTroubles('the certificate of the ext_proc port', parts.tls),
    ...certificateTroubles('the certificate of the metrics port', parts.metricsTls),
    ...refused.map(({ paths }) => `${paths.join(' with ')} is refused for connections by TLS`),
    ...(kubernetes === undefined || kubernetes.troubles.length === 0
      ? []
      : ['the Kubernetes API has troubles']),
    ...(replica?.trouble === undefined ? [] : [replica.trouble]),
    ...(recording?.trouble === undefined ? [] : [recording.trouble]),
    ...(election?.trouble === undefined ? [] : ['the Lease cannot be read or written']),
  ];
}

/** Sentences about a certificate, by its name. */
function certificateTroubles(name: string, tls: PortTls | undefined): readonly string[] {
  const invalidity = tls?.invalidity();
  return [
    ...(tls?.lastError() === undefined ? [] : [`${name} is refused`]),
    ...(invalidity === undefined ? [] : [`${name} ${invalidity}`]),
  ];
}

/**
 * Whether anything looks for samples: a configuration without a source of metrics is whole without
 * them. False also for a moment after the start, until the first scrape has ended.
 */
function isSampled(pool: EndpointPicker['pool']): boolean {
  const scrapes = scrapeErrorsOf(pool);
  return pool
    .snapshot()
    .some(({ id, metrics }) => metrics.sampledAt > -Infinity || scrapes.stateOf(id) !== undefined);
}

function schedulerTrouble(report: ReplacementReport | undefined): readonly string[] {
  const { name = '', state, cause } = report ?? {};
  if (state === undefined || state === 'connected') return [];
  return [
    `the scheduler ${name} is ${state}${cause === undefined ? '' : ` (${cause})`}: the profiles decide`,
  ];
}

function namesOf({ discovery }: ReadinessParts): readonly FollowedName[] {
  return discovery?.names.names() ?? [];
}

function failingNames(parts: ReadinessParts): readonly FollowedName[] {
  return namesOf(parts).filter(({ error }) => error !== undefined);
}
