import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import type { Registry } from 'prom-client';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { commandLineError, messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';
import type { Log } from '../../runtime/log/log.ts';
import { type FollowedContext, followedContext } from './followed-context.ts';
import { readAuthorities, readCertificate } from './read-certificate.ts';

const CERTIFICATE = '--metrics-cert-dir';
const AUTHORITIES = '--metrics-client-ca-file';

/** Flags about TLS of the metrics port. */
export interface MetricsTlsOptions {
  /** A folder with `tls.crt` and `tls.key`; without it the port has no TLS. */
  readonly metricsCertDir?: string | undefined;
  /** Clients must have a certificate of one of the authorities in this file. */
  readonly metricsClientCaFile?: string | undefined;
}

/** TLS of the metrics port. */
export interface MetricsTls extends FollowedContext {
  readonly needsClientCertificate: boolean;
}

interface Parts {
  readonly log: Log;
  readonly registry: Registry;
  readonly clock: Clock;
}

/**
 * TLS of the metrics port as the flags say; undefined without. Throws ConfigError for flags and
 * files that cannot be used, and the system's error for files that cannot be read.
 */
export function metricsTls(
  { metricsCertDir: folder, metricsClientCaFile: authorities }: MetricsTlsOptions,
  { log, registry, clock }: Parts,
): MetricsTls | undefined {
  if (folder === undefined) {
    if (authorities === undefined) return undefined;
    const message = `needs ${CERTIFICATE}: without TLS clients have no certificate`;
    throw commandLineError(AUTHORITIES, message);
  }
  const read = (): SecureContextOptions & Certificate => ({
    ...readCertificate(folder, CERTIFICATE),
    ...(authorities !== undefined && { ca: readAuthorities(authorities, AUTHORITIES) }),
    minVersion: 'TLSv1.2',
  });
  const first = read();
  const reloads = new Reloads({
    registry,
    name: 'pointsman_metrics_certificate_reloads_total',
    help: 'Changes of the certificate or of the authorities of the metrics port, adopted or refused.',
  });
  const paths = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  if (authorities !== undefined) paths.push(authorities);
  const followed = followedContext({
    paths,
    first,
    read,
    clock,
    onAdopted: () => reloads.adopted(),
    ...refusals(log, reloads),
  });
  return { ...followed, needsClientCertificate: authorities !== undefined };
}

/** What is counted and logged where the files cannot be used, or not be watched. */
function refusals(
  log: Log,
  reloads: Reloads,
): { onRefused(reason: string): void; onUnwatched(error: unknown): void } {
  return {
    onRefused: (reason) => {
      reloads.refused();
      log.error(
        { reason },
        'certificate of the metrics port refused; the previous one continues to serve',
      );
    },
    onUnwatched: (error) =>
      log.warn(
        { error: messageOf(error) },
        'the certificate of the metrics port cannot be watched; it is looked at once a second',
      ),
  };
}
