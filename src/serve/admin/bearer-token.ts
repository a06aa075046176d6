import { createHash, timingSafeEqual } from 'node:crypto';
import { readToken } from '../../files/following/token-file.ts';

/** A token in a file, which may be replaced while the picker runs: each request reads it. */
export class BearerToken {
  readonly #flag: string;
  readonly #path: string;

  /** `flag` names the file in error messages. Throws where the file has no token. */
  constructor(flag: string, path: string) {
    this.#flag = flag;
    this.#path = path;
    readToken(flag, path);
  }

  /** Whether this token was sent. False where the file cannot be read any more. */
  accepts(sent: string | undefined): boolean {
    if (sent === undefined) return false;
    try {
      return timingSafeEqual(digest(sent), digest(readToken(this.#flag, this.#path)));
    } catch {
      return false;
    }
  }
}

/** The token of an `Authorization: Bearer …` header. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/** Stands for a token where it is kept. */
export function tokenDigest(token: string): string {
  return digest(token).toString('hex');
}

/** Digests have equal length for all tokens, so that the time of a comparison says nothing. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
