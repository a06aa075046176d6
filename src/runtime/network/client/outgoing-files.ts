import { readFollowed } from '../../../files/following/read-followed.ts';
import { messageOf } from '../../../framework/error.ts';
import type { HttpTls } from '../../../framework/runtime.ts';
import { loadTls } from '../../modules/node-modules.ts';

type TlsPaths = Pick<HttpTls, 'caPath' | 'certPath' | 'keyPath'>;

/** The content of the files, in the terms of Node's TLS. */
export interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

const BEGIN = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g;
const END = /-----END [A-Z0-9 ]*CERTIFICATE-----/g;

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
      const files = usable(paths);
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

function usable({ caPath, certPath, keyPath }: TlsPaths): TlsFiles {
  const files = { ca: read(caPath), cert: read(certPath), key: read(keyPath) };
  const authorities = files.ca?.toString('latin1');
  // Node passes over what is no whole certificate.
  const begun = authorities?.match(BEGIN)?.length ?? 0;
  if (authorities !== undefined && (begun === 0 || begun !== authorities.match(END)?.length)) {
    throw new Error(`${caPath} has no certificates, or not all of them whole`);
  }
  try {
    loadTls().createSecureContext(files);
  } catch (error) {
    const named = [certPath, keyPath].filter((path) => path !== undefined).join(' with ');
    throw new Error(`${named} cannot be used: ${messageOf(error)}`, { cause: error });
  }
  return files;
}

function read(path: string | undefined): Buffer | undefined {
  return path === undefined ? undefined : readFollowed(path);
}

/** On stderr, as Node writes its own warnings. */
function warnOfFile(message: string): void {
  process.emitWarning(message, { type: 'PointsmanTlsFile' });
}
