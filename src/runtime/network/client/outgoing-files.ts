import { X509Certificate } from 'node:crypto';
import { readFollowed } from '../../../files/following/read-followed.ts';
import { messageOf } from '../../../framework/error.ts';
import type { HttpTls, Millis } from '../../../framework/runtime.ts';
import { loadTls } from '../../modules/node-modules.ts';

// An `import` reads all exports of `node:util`, for which Node loads a part of its assertions.
const { isDeepStrictEqual } = process.getBuiltinModule('node:util');

export type TlsPaths = Pick<HttpTls, 'caPath' | 'certPath' | 'keyPath'>;

/** The content of the files, in the terms of Node's TLS. */
export interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

/** Files that have changed and cannot be used. What they held before stays in use. */
export interface RefusedFiles {
  readonly paths: readonly string[];
  readonly reason: string;
  /** In Unix time. */
  readonly sinceMs: Millis;
}

/** Called for files that cannot be used any more. */
export type WarnOfFile = (message: string, paths: TlsPaths) => void;

interface OutgoingFilesOptions {
  /** Default: a warning of the process. */
  readonly warn?: WarnOfFile | undefined;
  readonly wallTime?: () => Millis;
}

const BEGIN = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g;
const WHOLE = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]*-----END [A-Z0-9 ]*CERTIFICATE-----/g;

/** Files of authorities, certificates and keys for outgoing connections, which may be replaced. */
export class OutgoingFiles {
  readonly #used = new Map<string, TlsFiles>();
  /** The files, by their paths, that a warning has named and that cannot be used yet. */
  readonly #refused = new Map<string, RefusedFiles>();
  readonly #counts = { adopted: 0, refused: 0 };
  readonly #warn: WarnOfFile;
  readonly #wallTime: () => Millis;

  constructor({ warn = warnOfFile, wallTime = Date.now }: OutgoingFilesOptions = {}) {
    this.#warn = warn;
    this.#wallTime = wallTime;
  }

  /** Changes so far, by what became of them. */
  get counts(): Readonly<Record<'adopted' | 'refused', number>> {
    return this.#counts;
  }

  /** Files that cannot be used now: those that a connection has found so are read once more. */
  refused(): readonly RefusedFiles[] {
    for (const name of this.#refused.keys()) this.#look(name);
    return [...this.#refused.values()];
  }

  /** A connection of another thread has found that it cannot use these files any more. */
  refusedElsewhere(paths: TlsPaths): void {
    this.#look(nameOf(paths));
  }

  /**
   * Reads the files anew. Where they cannot be used, gives those that were used last, and warns
   * once: a file that is half written must not cost every server its next connection. Throws where
   * there are none.
   */
  read(paths: TlsPaths): TlsFiles {
    const { caPath, certPath, keyPath } = paths;
    const name = nameOf(paths);
    const used = this.#used.get(name);
    try {
      const files = { ca: read(caPath), cert: read(certPath), key: read(keyPath) };
      // They are read for each connection, and rarely change.
      if (!isDeepStrictEqual(files, used)) {
        check(files, paths);
        if (used !== undefined || this.#refused.has(name)) this.#counts.adopted += 1;
      }
      this.#used.set(name, files);
      this.#refused.delete(name);
      return files;
    } catch (error) {
      if (used === undefined) throw error;
      this.#refuse(name, messageOf(error));
      return used;
    }
  }

  #look(name: string): void {
    try {
      this.read(pathsOf(name));
    } catch (error) {
      // Only another thread has used them: there is nothing that this one could go on with.
      this.#refuse(name, messageOf(error));
    }
  }

  #refuse(name: string, reason: string): void {
    const known = this.#refused.get(name);
    const given = pathsOf(name);
    const paths = Object.values(given).filter((path) => path !== undefined);
    this.#refused.set(name, { paths, reason, sinceMs: known?.sinceMs ?? this.#wallTime() });
    if (known !== undefined) return;
    this.#counts.refused += 1;
    this.#warn(`${reason}; what it had before stays in use`, given);
  }
}

/** The name of files in the maps. */
function nameOf({ caPath, certPath, keyPath }: TlsPaths): string {
  return JSON.stringify([caPath, certPath, keyPath]);
}

/** What the name of files in the maps says. */
function pathsOf(name: string): TlsPaths {
  const [caPath, certPath, keyPath] = JSON.parse(name) as readonly (string | null)[];
  return {
    caPath: caPath ?? undefined,
    certPath: certPath ?? undefined,
    keyPath: keyPath ?? undefined,
  };
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
