import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { Gauge, type Registry } from 'prom-client';
import type { TlsContext } from '../../extproc/server/port/tls-credentials.ts';
import { followFiles } from '../../files/following/follow-files.ts';
import type { Clock, Timer } from '../../framework/runtime.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';
import type { Log } from '../../runtime/log/log.ts';

interface Following {
  /** Undefined for a certificate that is in no file. */
  readonly certPath: string | undefined;
  readonly clientCaFile: string | undefined;
  readonly first: TlsContext;
  /** Throws where a file cannot be used. */
  readonly read: () => TlsContext;
  readonly use: (context: TlsContext) => void;
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
 * when the certificate expires. Returns a way to stop.
 */
export function followCertificate(following: Following, parts: Parts): () => Promise<void> {
  const { certPath, clientCaFile, read, use } = following;
  const { log } = parts;
  let used = following.first;
  const reloads = new Reloads({
    registry: parts.registry,
    name: 'pointsman_certificate_reloads_total',
    help: 'Changes of the certificate or of the authorities of clients, adopted or refused.',
  });
  const expiry = watchExpiry(() => used, parts);
  const paths = [
    ...(certPath === undefined ? [] : [join(certPath, 'tls.crt'), join(certPath, 'tls.key')]),
    ...(clientCaFile === undefined ? [] : [clientCaFile]),
  ];

  const refused = (error: unknown): void =>
    log.error({ error }, 'certificate refused; the previous one continues to serve');

  function take(): void {
    const next = read();
    if (isSame(next, used)) return;
    use(next);
    used = next;
    reloads.adopted();
    log.info({ paths, ...describe(next) }, 'certificate replaced; new connections use it');
    expiry.check();
  }

  const files = followFiles(paths, {
    take: () => reloads.attempt(take, refused),
    onRefused: refused,
    onUnwatched: (error, path) =>
      log.error({ path, err: error }, 'the certificate cannot be watched'),
  });
  return async () => {
    expiry.stop();
    await files.stop();
  };
}

function isSame(a: TlsContext, b: TlsContext): boolean {
  const authorities = (each: TlsContext): Buffer => each.clientCa ?? Buffer.alloc(0);
  return a.cert.equals(b.cert) && a.key.equals(b.key) && authorities(a).equals(authorities(b));
}

function describe({ cert }: TlsContext): { readonly subject: string; readonly expires: string } {
  const { subject, validTo } = new X509Certificate(cert);
  return { subject, expires: validTo };
}

/** Exports when the certificate in use expires, and warns before, once for each certificate. */
function watchExpiry(
  used: () => TlsContext,
  { registry, clock, log }: Parts,
): { check(): void; stop(): void } {
  const expiresAtMs = (): number => Date.parse(new X509Certificate(used().cert).validTo);
  new Gauge({
    name: 'pointsman_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of the ext_proc port expires, in Unix time.',
    registers: [registry],
    collect() {
      this.set(expiresAtMs() / 1000);
    },
  });
  let warnedOf: Buffer | undefined;
  let timer: Timer | undefined;
  const check = (): void => {
    timer?.cancel();
    timer = clock.setTimer(CHECK_INTERVAL_MS, check);
    const context = used();
    const leftMs = expiresAtMs() - clock.wallTime();
    if (leftMs > WARN_BEFORE_MS || warnedOf?.equals(context.cert) === true) return;
    warnedOf = context.cert;
    const what = leftMs > 0 ? 'the certificate expires soon' : 'the certificate has expired';
    log.warn(describe(context), `${what}: replace tls.crt and tls.key`);
  };
  check();
  return { check, stop: () => timer?.cancel() };
}
