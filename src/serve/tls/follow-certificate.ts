import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { TlsContext } from '../../extproc/server/port/tls-credentials.ts';
import { type Following, followFiles } from '../../files/following/follow-files.ts';
import { messageOf } from '../../framework/error.ts';
import type { Clock, Timer } from '../../framework/runtime.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { Registry } from '../../runtime/prom-client.ts';
import { invalidityOf, refuseExpired } from './invalidity.ts';
import { showValidity } from './validity-metrics.ts';

interface CertificateFiles {
  /** Undefined for a certificate that is in no file. */
  readonly certPath: string | undefined;
  readonly clientCaFile: string | undefined;
  readonly first: TlsContext;
  /** Throws where a file cannot be used. */
  readonly read: () => TlsContext;
  readonly use: (context: TlsContext) => void;
}

/** A certificate that is followed. */
export interface FollowedCertificate extends Following {
  /** Why clients that verify it refuse it now; undefined while it is valid. */
  readonly invalidity: () => string | undefined;
}

interface Parts {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}

const CHECK_INTERVAL_MS = 3_600_000;
/** Most tools renew a certificate long before. */
const WARN_BEFORE_MS = 7 * 24 * 3_600_000;

/**
 * Follows the files of a certificate and of authorities: a valid change counts for connections from
 * then on; an invalid one is refused and logged while the last valid one continues to serve. Says
 * when the certificate expires.
 */
export function followCertificate(followed: CertificateFiles, parts: Parts): FollowedCertificate {
  const { certPath, clientCaFile, first, read, use } = followed;
  const { log } = parts;
  let used = first;
  const reloads = new Reloads({
    registry: parts.registry,
    name: 'pointsman_certificate_reloads_total',
    help: 'Changes of the certificate or of the authorities of clients, adopted or refused.',
  });
  const validity = watchValidity(() => used, parts);
  const paths = [
    ...(certPath === undefined ? [] : [join(certPath, 'tls.crt'), join(certPath, 'tls.key')]),
    ...(clientCaFile === undefined ? [] : [clientCaFile]),
  ];

  function take(next: TlsContext): void {
    refuseExpired(next.cert, { used: used.cert, wallTimeMs: parts.clock.wallTime() });
    use(next);
    used = next;
    reloads.adopted();
    log.info({ paths, ...describe(next) }, 'certificate replaced; new connections use it');
    validity.check();
  }

  const files = followFiles(paths, {
    first,
    read,
    use: take,
    onRefused: (error) => {
      reloads.refused();
      log.error({ error }, 'certificate refused; the previous one continues to serve');
    },
    onUnwatched: (error, path) =>
      log.warn(
        { path, error: messageOf(error) },
        'the certificate cannot be watched; it is looked at once a second',
      ),
  });
  return {
    lastError: files.lastError,
    invalidity: () => invalidityOf(used.cert, parts.clock.wallTime()),
    stop: async () => {
      validity.stop();
      await files.stop();
    },
  };
}

function describe({
  cert,
}: TlsContext): Readonly<Record<'subject' | 'begins' | 'expires', string>> {
  const { subject, validFrom, validTo } = new X509Certificate(cert);
  return { subject, begins: validFrom, expires: validTo };
}

/**
 * Shows when the certificate in use begins and ends to be valid. Warns once of one that is not
 * valid yet, of one that soon expires, and of one that has expired.
 */
function watchValidity(
  used: () => TlsContext,
  { registry, clock, log }: Parts,
): { check(): void; stop(): void } {
  const atMs = (end: 'validFrom' | 'validTo'): number =>
    Date.parse(new X509Certificate(used().cert)[end]);
  showValidity(registry, { port: 'the ext_proc port', used: () => used().cert });
  let warned: { readonly of: Buffer; readonly what: string } | undefined;
  let timer: Timer | undefined;
  const check = (): void => {
    timer?.cancel();
    timer = clock.setTimer(CHECK_INTERVAL_MS, check);
    const context = used();
    const now = clock.wallTime();
    const what = complaintOf({
      beginsInMs: atMs('validFrom') - now,
      leftMs: atMs('validTo') - now,
    });
    const isSaid = warned?.what === what && warned?.of.equals(context.cert) === true;
    if (what === undefined || isSaid) return;
    warned = { of: context.cert, what };
    log.warn(describe(context), what);
  };
  check();
  return { check, stop: () => timer?.cancel() };
}

interface Left {
  readonly beginsInMs: number;
  readonly leftMs: number;
}

function complaintOf({ beginsInMs, leftMs }: Left): string | undefined {
  if (beginsInMs > 0) {
    return 'the certificate is not valid yet, and clients that verify it refuse the connection: correct the clock, or use another tls.crt and tls.key';
  }
  if (leftMs > WARN_BEFORE_MS) return undefined;
  const what = leftMs > 0 ? 'the certificate expires soon' : 'the certificate has expired';
  return `${what}: replace tls.crt and tls.key`;
}
