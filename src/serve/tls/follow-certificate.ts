import { join } from 'node:path';
import type { TlsContext } from '../../extproc/server/port/tls-credentials.ts';
import { type Following, followFiles } from '../../files/following/follow-files.ts';
import { messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';
import {
  CertificateValidity,
  describeCertificate,
  type ValidityParts,
} from './certificate-validity.ts';
import { invalidityOf, refuseExpired } from './invalidity.ts';

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

/**
 * Follows the files of a certificate and of authorities: a valid change counts for connections from
 * then on; an invalid one is refused and logged while the last valid one continues to serve. Says
 * when the certificate expires.
 */
export function followCertificate(
  followed: CertificateFiles,
  parts: ValidityParts,
): FollowedCertificate {
  const { first, read } = followed;
  const { clock, log } = parts;
  const paths = pathsOf(followed);
  const certificate = new UsedCertificate(followed, parts);
  const files = followFiles(paths, {
    first,
    read,
    use: (next) => {
      certificate.replace(next);
      const about = { paths, ...describeCertificate(next) };
      log.info(about, 'certificate replaced; new connections use it');
      certificate.validity.check();
    },
    onRefused: (error) => {
      certificate.reloads.refused();
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
    invalidity: () => invalidityOf(certificate.context.cert, clock.wallTime()),
    stop: async () => {
      certificate.validity.stop();
      await files.stop();
    },
  };
}

function pathsOf({
  certPath,
  clientCaFile,
}: Pick<CertificateFiles, 'certPath' | 'clientCaFile'>): readonly string[] {
  return [
    ...(certPath === undefined ? [] : [join(certPath, 'tls.crt'), join(certPath, 'tls.key')]),
    ...(clientCaFile === undefined ? [] : [clientCaFile]),
  ];
}

/** The certificate that new connections get, and what is counted and said of it. */
class UsedCertificate {
  readonly reloads: Reloads;
  readonly validity: CertificateValidity;
  readonly #use: CertificateFiles['use'];
  readonly #clock: Clock;
  #context: TlsContext;

  constructor({ first, use }: CertificateFiles, parts: ValidityParts) {
    this.#context = first;
    this.#use = use;
    this.#clock = parts.clock;
    this.reloads = new Reloads({
      registry: parts.registry,
      name: 'pointsman_certificate_reloads_total',
      help: 'Changes of the certificate or of the authorities of clients, adopted or refused.',
    });
    this.validity = new CertificateValidity(() => this.#context, parts);
  }

  get context(): TlsContext {
    return this.#context;
  }

  /** Throws where the next one has expired and this one has not. */
  replace(next: TlsContext): void {
    const wallTimeMs = this.#clock.wallTime();
    refuseExpired(next.cert, { used: this.#context.cert, wallTimeMs });
    this.#use(next);
    this.#context = next;
    this.reloads.adopted();
  }
}
