import type { EnvoyState } from './check-envoy-state.ts';
import { TLS_LINES } from './cluster-lines.ts';
import type { Cluster } from './envoy-types.ts';
import type { Finding } from './finding.ts';

type Cause = Pick<Finding, 'what' | 'mend' | 'lines'>;
type ReadCounter = (name: string) => number;

/**
 * Clusters of the picker over which no stream has ever been answered, with the cause that Envoy's
 * counters show. Where they show none, other findings say what is known.
 */
export function checkPickerReached(
  { stats }: Pick<EnvoyState, 'stats'>,
  pickers: readonly Cluster[],
): readonly Finding[] {
  const values = new Map((stats.stats ?? []).map(({ name, value }) => [name, value]));
  return pickers.flatMap((cluster) => {
    const counter: ReadCounter = (name) =>
      Number(values.get(`cluster.${cluster.name}.${name}`) ?? 0);
    const cause = counter('upstream_rq_2xx') > 0 ? undefined : causeOf(cluster, counter);
    if (cause === undefined) return [];
    const where = `cluster ${cluster.name}, of the picker`;
    return [{ severity: 'error', id: 'picker-not-reached', where, ...cause } as const];
  });
}

function causeOf(cluster: Cluster, counter: ReadCounter): Cause | undefined {
  const failed = counter('upstream_cx_connect_fail');
  if (cluster.transport_socket !== undefined) {
    const unverified =
      counter('ssl.fail_verify_error') +
      counter('ssl.fail_verify_san') +
      counter('ssl.fail_verify_cert_hash');
    if (unverified > 0) return counter('ssl.fail_verify_san') > 0 ? OTHER_NAME : UNVERIFIED;
    if (counter('ssl.connection_error') > 0) return NO_TLS_THERE;
  }
  if (failed > 0) return nothingListens(cluster);
  // What has no HTTP/2 is a finding of its own.
  const isHttp2 = counter('upstream_cx_http2_total') > 0;
  const closed = counter('upstream_cx_destroy_remote_with_active_rq');
  return cluster.transport_socket === undefined && isHttp2 && closed > 0 ? TLS_THERE : undefined;
}

const OTHER_NAME: Cause = {
  what: 'the certificate that it shows has none of the names in match_typed_subject_alt_names: every request fails or passes without a pick.',
  mend: 'Correct the names in validation_context, or give the picker a certificate that has them, with --cert-path.',
};
const UNVERIFIED: Cause = {
  what: 'Envoy does not accept its certificate, which the authority in trusted_ca has not signed, or which is not valid now: every request fails or passes without a pick.',
  mend: 'Give validation_context the authority of the picker’s certificate, or give the picker another certificate with --cert-path; `doctor --certificate <file>` says until when one is valid.',
};
const NO_TLS_THERE: Cause = {
  what: 'Envoy speaks TLS, and every handshake has failed: a picker with --insecure speaks none, and one with --client-ca-file demands a certificate. Every request fails or passes without a pick.',
  mend: 'Remove transport_socket from this cluster, or start the picker without --insecure; where it has --client-ca-file, add tls_certificates to common_tls_context.',
};

const TLS_THERE: Cause = {
  what: 'Envoy speaks no TLS, and every connection is closed by the other side: a picker without --insecure speaks TLS. Every request fails or passes without a pick.',
  mend: 'Add these lines, or start the picker with --insecure:',
  lines: TLS_LINES,
};

function nothingListens(cluster: Cluster): Cause {
  const addresses = (cluster.load_assignment?.endpoints ?? [])
    .flatMap(({ lb_endpoints: endpoints = [] }) => endpoints)
    .flatMap(({ endpoint }) => endpoint?.address?.socket_address ?? [])
    .map(({ address, port_value: port }) => `${address}:${port}`);
  const at = addresses.length === 0 ? '' : ` at ${addresses.slice(0, 3).join(', ')}`;
  const start =
    'Start the picker there, or correct the address in load_assignment: the port is that of --extproc-port, 9002 if not given. Where it runs there by now, send a request: Envoy connects with the next one.';
  // A picker that refuses the certificate of a client closes the connection, which looks the same.
  const isTls = cluster.transport_socket !== undefined;
  const refused = isTls ? ', or a picker there refuses its client certificate' : '';
  return {
    what: `Envoy could not connect${at} whenever it tried${refused}: every request fails or passes without a pick.`,
    mend: isTls
      ? `${start} The log of a picker with --client-ca-file says whether it refuses a certificate.`
      : start,
  };
}
