import type { Registry } from 'prom-client';
import { type Following, followFiles } from '../../files/following/follow-files.ts';
import { messageOf } from '../../framework/error.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';
import { readAuthorities } from '../../serve/tls/read-certificate.ts';

/** The authorities that sign the certificates of other servers. */
export interface UpstreamAuthorities extends Following {
  /** PEM of their certificates, as it is at the moment. */
  readonly current: () => string;
}

/**
 * Follows the file of `--tls-ca`; undefined without it. A valid change counts for connections from
 * then on. Throws ConfigError for a file that holds no certificates or a damaged one, and the
 * system's error for one that cannot be read.
 */
export function upstreamAuthorities(
  path: string | undefined,
  { log, registry }: { readonly log: (line: string) => void; readonly registry: Registry },
): UpstreamAuthorities | undefined {
  if (path === undefined) return undefined;
  const read = (): string => readAuthorities(path, '--tls-ca').toString('latin1');
  let current = read();
  const reloads = new Reloads({
    registry,
    name: 'pointsman_outgoing_tls_reloads_total',
    help: 'Changes of the files of outgoing TLS connections, adopted or refused.',
  });
  const following = followFiles([path], {
    first: current,
    read,
    use: (next) => {
      current = next;
      reloads.adopted();
      log(`the authorities in ${path} are replaced; new connections use them`);
    },
    onRefused: (reason) => {
      reloads.refused();
      log(`the authorities in ${path} are refused; the previous ones stay in use: ${reason}`);
    },
    onUnwatched: (error) =>
      log(`${path} cannot be watched (${messageOf(error)}); it is looked at once a second`),
  });
  return { ...following, current: () => current };
}
