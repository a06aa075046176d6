import type { SecureContextOptions } from 'node:tls';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { type Following, followFiles } from '../../files/following/follow-files.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { FollowedCertificate } from './follow-certificate.ts';
import { invalidityOf, refuseExpired } from './invalidity.ts';

/** TLS of one port, whose files can be followed. */
export interface FollowedContext extends Omit<FollowedCertificate, 'stop'> {
  /** The context of the files as they are now. Throws where they cannot be used. */
  readonly context: () => SecureContextOptions;
  /** The certificate in use. */
  readonly certificate: () => Buffer;
  /** Calls `use` with each valid change of the files, which counts for connections from then on. */
  follow(use: (context: SecureContextOptions) => void): Following;
}

interface FollowedFiles {
  /** None for a certificate that is in no file. */
  readonly paths: readonly string[];
  /** What is in use at first: what `read` gave. */
  readonly first: SecureContextOptions & Certificate;
  /** Reads them anew. Throws where they cannot be used. */
  readonly read: () => SecureContextOptions & Certificate;
  readonly clock: Clock;
  readonly onAdopted: () => void;
  /** The last valid context stays in use. */
  readonly onRefused: (reason: string) => void;
  /** The files are looked at once a second. */
  readonly onUnwatched: (error: unknown) => void;
}

/** The TLS of a port that begins with `first`. Follows the files only once `follow` is called. */
export function followedContext(files: FollowedFiles): FollowedContext {
  const { paths, first, read, clock, onAdopted, onRefused, onUnwatched } = files;
  let used = first;
  let following: Following | undefined;
  return {
    context: read,
    certificate: () => used.cert,
    lastError: () => following?.lastError(),
    invalidity: () => invalidityOf(used.cert, clock.wallTime()),
    follow(use) {
      const adopt = (next: typeof used): void => {
        refuseExpired(next.cert, { used: used.cert, wallTimeMs: clock.wallTime() });
        use(next);
        used = next;
        onAdopted();
      };
      following = followFiles(paths, { first, read, use: adopt, onRefused, onUnwatched });
      return following;
    },
  };
}
