import type { Validity } from './check-certificates.ts';
import { type Finding, when } from './finding.ts';

/** What Envoy's admin port says besides its configuration. */
export interface EnvoyState {
  /** `/server_info`. */
  readonly info: { readonly state?: string; readonly version?: string };
  /** `/stats?format=json`. */
  readonly stats: {
    readonly stats?: readonly { readonly name?: string; readonly value?: unknown }[];
  };
  /** `/certs`. */
  readonly certs: { readonly certificates?: readonly Certificate[] };
}

interface Certificate {
  readonly ca_cert?: readonly CertificateFile[];
  readonly cert_chain?: readonly CertificateFile[];
}

interface CertificateFile {
  readonly path?: string;
  readonly valid_from?: string;
  readonly expiration_time?: string;
}

/** Counters that stay at 0 in a sound Envoy, and what it means that one does not. */
const COUNTERS: readonly {
  readonly pattern: RegExp;
  readonly id: string;
  readonly means: string;
  readonly mend: string;
}[] = [
  {
    pattern: /^cluster\.(.+)\.upstream_(rq_pending|cx)_overflow$/,
    id: 'circuit-breaker-opened',
    means: 'requests failed because the circuit breaker of the cluster was open',
    mend: 'Raise its thresholds: see the finding circuit-breaker, or ask for fewer requests at once.',
  },
  {
    pattern: /\.ext_proc\.message_timeouts$/,
    id: 'picker-answered-late',
    means: 'requests failed because the picker had not answered within message_timeout',
    mend: 'Raise message_timeout to 1000s, and see docs/troubleshooting.md#requests-fail-with-504.',
  },
  {
    pattern: /\.ext_proc\.failure_mode_allowed$/,
    id: 'passed-without-pick',
    means: 'requests passed without a pick because the picker failed',
    mend: 'See whether the picker restarts, and why.',
  },
  {
    pattern: /\.ext_proc\.rejected_header_mutations$/,
    id: 'pick-refused',
    means: 'changes of headers by the picker were refused by mutation_rules of the filter',
    mend: 'Allow x-gateway-destination-endpoint there.',
  },
  {
    pattern: /\.ext_proc\.streams_failed$/,
    id: 'picker-failed',
    means: 'streams to the picker failed: it was not there, spoke no gRPC or other TLS, or ended',
    mend: 'See whether it runs at the address of its cluster, with TLS the same on both sides: without --insecure the picker speaks TLS.',
  },
  {
    pattern: /^cluster\.(.+)\.upstream_rq_retry_overflow$/,
    id: 'retry-limit-reached',
    means: 'requests failed because as many others were being repeated as max_retries allows',
    mend: 'Set max_retries of the circuit breaker to 1000.',
  },
  {
    pattern: /\.downstream_rq_too_large$/,
    id: 'body-too-large',
    means: 'requests were answered with 413',
    mend: 'Raise per_connection_buffer_limit_bytes of the listener, or use FULL_DUPLEX_STREAMED.',
  },
  {
    pattern: /\.downstream_rq_idle_timeout$/,
    id: 'request-idle',
    means: 'requests failed because nothing was sent within the idle timeout',
    mend: 'Raise idle_timeout of the route to 86400s.',
  },
  {
    pattern: /\b(cds|rds\..+)\.update_rejected$/,
    id: 'update-refused',
    means: 'updates of clusters or routes by xDS were refused, so that a change has no effect',
    mend: 'See the log of Envoy for the reason, and correct what the control plane sends.',
  },
  {
    pattern: /^cluster\.(.+)\.upstream_rq_timeout$/,
    id: 'answer-cut',
    means: 'answers failed because they took longer than the timeout of their route',
    mend: 'Set timeout of the route to 0s.',
  },
];

/** What Envoy's counters and health checks say. `pickers` are names of clusters. */
export function checkEnvoyState(
  { info, stats }: EnvoyState,
  pickers: readonly string[],
): readonly Finding[] {
  const values = new Map(
    (stats.stats ?? []).flatMap(({ name, value }) =>
      name === undefined || typeof value !== 'number' ? [] : [[name, value] as const],
    ),
  );
  return [
    ...when(info.state !== undefined && info.state !== 'LIVE', {
      severity: 'warning',
      id: 'envoy-not-live',
      where: 'Envoy',
      what: `it is ${info.state}, and takes no new requests.`,
      mend: 'Wait until it is LIVE, and ask again.',
    }),
    ...pickers.flatMap((name) => healthFinding(name, values)),
    ...counterFindings(values),
  ];
}

function healthFinding(name: string, values: ReadonlyMap<string, number>): readonly Finding[] {
  const total = values.get(`cluster.${name}.membership_total`) ?? 0;
  const healthy = values.get(`cluster.${name}.membership_healthy`) ?? total;
  if (healthy > 0) return [];
  return [
    {
      severity: 'error',
      id: 'picker-down',
      where: `cluster ${name}`,
      what:
        total === 0
          ? 'Envoy knows no address of the picker: every request fails or passes without a pick.'
          : `${total === 1 ? 'the picker does not pass' : `none of ${total} pickers passes`} its health check: every request fails or passes without a pick.`,
      mend: 'Start the picker, correct its address, or make TLS the same on both sides: without --insecure the picker speaks TLS.',
    },
  ];
}

function counterFindings(values: ReadonlyMap<string, number>): readonly Finding[] {
  return [...values].flatMap(([name, value]) => {
    const found = value > 0 ? COUNTERS.find(({ pattern }) => pattern.test(name)) : undefined;
    if (found === undefined) return [];
    const { id, means, mend } = found;
    const what = `since Envoy started, ${value.toLocaleString('en')} ${means}.`;
    return [{ severity: 'warning', id, where: `counter ${name}`, what, mend } as const];
  });
}

/** The certificates that Envoy uses, with the authorities that it trusts. */
export function envoyCertificates({ certificates = [] }: EnvoyState['certs']): readonly Validity[] {
  return certificates.flatMap(({ ca_cert: roots = [], cert_chain: chain = [] }) =>
    [...roots, ...chain].map(
      ({ path = 'without a path', valid_from: from, expiration_time: until }) => ({
        where: `certificate ${path} of Envoy`,
        from,
        until,
      }),
    ),
  );
}
