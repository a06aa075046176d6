import { X509Certificate } from 'node:crypto';
import type { TlsContext } from '../../extproc/server/port/tls-credentials.ts';
import type { Clock, Timer } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { Registry } from '../../runtime/prom-client.ts';
import { showValidity } from './validity-metrics.ts';

export interface ValidityParts {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}

const CHECK_INTERVAL_MS = 3_600_000;
/** Most tools renew a certificate long before. */
const WARN_BEFORE_MS = 7 * 24 * 3_600_000;

/**
 * Shows when the certificate in use begins and ends to be valid. Warns once of one that is not
 * valid yet, of one that soon expires, and of one that has expired.
 */
export class CertificateValidity {
  readonly #used: () => TlsContext;
  readonly #parts: ValidityParts;
  #warned: { readonly of: Buffer; readonly what: string } | undefined;
  #timer: Timer | undefined;

  constructor(used: () => TlsContext, parts: ValidityParts) {
    this.#used = used;
    this.#parts = parts;
    const { registry } = parts;
    showValidity(registry, { port: 'the ext_proc port', used: () => used().cert });
    this.check();
  }

  /** To be called for each new certificate; it looks again every hour by itself. */
  check(): void {
    const { clock, log } = this.#parts;
    this.#timer?.cancel();
    this.#timer = clock.setTimer(CHECK_INTERVAL_MS, () => this.check());
    const context = this.#used();
    const now = clock.wallTime();
    const what = complaintOf({
      beginsInMs: atMs(context, 'validFrom') - now,
      leftMs: atMs(context, 'validTo') - now,
    });
    const isSaid = this.#warned?.what === what && this.#warned?.of.equals(context.cert) === true;
    if (what === undefined || isSaid) return;
    this.#warned = { of: context.cert, what };
    log.warn(describeCertificate(context), what);
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

/** A certificate as the log shows it. */
export function describeCertificate({
  cert,
}: TlsContext): Readonly<Record<'subject' | 'begins' | 'expires', string>> {
  const { subject, validFrom, validTo } = new X509Certificate(cert);
  return { subject, begins: validFrom, expires: validTo };
}

type CertificateEnd = 'validFrom' | 'validTo';

function atMs({ cert }: TlsContext, end: CertificateEnd): number {
  return Date.parse(new X509Certificate(cert)[end]);
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
