import { X509Certificate } from 'node:crypto';
import { readFollowed } from '../../../files/following/read-followed.ts';
import { messageOf } from '../../../framework/error.ts';
import type { HttpTls } from '../../../framework/runtime.ts';
import { loadTls } from '../../modules/node-modules.ts';

// An `import` reads all exports of `node:util`, for which Node loads a part of its assertions.
const { isDeepStrictEqual } = process.getBuiltinModule('node:util');

type TlsPaths = Pick<HttpTls, 'caPath' | 'certPath' | 'keyPath'>;

/** The content of the files, in the terms of Node's TLS. */
export interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

const BEGIN = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g;
const WHOLE = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]*-----END [A-Z0-9 ]*CERTIFICATE-----/g;

/** Files of authorities, certificates and keys for outgoing connections, which may be replaced. */
export class OutgoingFiles {
  readonly #used = new Map<string, TlsFiles>();
  /** The files, by their paths, that a warning has named and that cannot be used yet. */
  readonly #refused = new Set<string>();
  readonly #warn: (message: string) => void;

  constructor(warn: (message: string) => void = warnOfFile) {
    this.#warn = warn;
  }

  /**
   * Reads the files anew. Where they cannot be used, gives those that were used last, and warns
   * once: a file that is half written must not cost every server its next connection. Throws where
   * there are none.
   */
  read(paths: TlsPaths): TlsFiles {
    const { caPath, certPath, keyPath } = paths;
    const name = JSON.stringify([caPath, certPath, keyPath]);
    try {
      const files = { ca: read(caPath), cert: read(certPath), key: read(keyPath) };
      // They are read for each connection, and rarely change.
      if (!isDeepStrictEqual(files, this.#used.get(name))) check(files, paths);
      this.#used.set(name, files);
      this.#refused.delete(name);
      return files;
    } catch (error) {
      const used = this.#used.get(name);
      if (used === undefined) throw error;
      if (!this.#refused.has(name)) {
        this.#refused.add(name);
        this.#warn(`${messageOf(error)}; what it had before stays in use`);
      }
      return used;
    }
  }
}

/** Throws where they cannot be used. */
function check(files: TlsFiles, { caPath, certPath, keyPath }: TlsPaths): void {
  if (files.ca !== undefined) checkAuthorities(files.ca.toString('latin1'), caPath);
  try {
    loadTls().createSecureContext(files);
  } catch (error) {
    const named = [certPath, keyPath].filter((path) => path !== undefined).join(' with ');
    throw new Error(`${named} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

/** Node passes over what is no whole certificate, and over all that is behind a damaged one. */
function checkAuthorities(pem: string, path: string | undefined): void {
  const whole = pem.match(WHOLE) ?? [];
  if (whole.length === 0 || whole.length !== pem.match(BEGIN)?.length) {
    throw new Error(`${path} has no certificates, or not all of them whole`);
  }
  for (const certificate of whole) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      throw new Error(`${path} has a damaged certificate (${messageOf(error)})`, { cause: error });
    }
  }
}

function read(path: string | undefined): Buffer | undefined {
  return path === undefined ? undefined : readFollowed(path);
}

/** On stderr, as Node writes its own warnings. */
function warnOfFile(message: string): void {
  process.emitWarning(message, { type: 'PointsmanTlsFile' });
}
