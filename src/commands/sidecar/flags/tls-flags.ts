import { type Command, InvalidArgumentError } from 'commander';
import { UPSTREAM_ROLES, type UpstreamRole } from '../../../sidecar/options/sidecar-options.ts';

/** TLS at the sidecar's port, and towards other servers. */
export interface TlsFlags {
  readonly secureServing: boolean;
  readonly certPath?: string;
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: string;
  readonly enableTls: readonly UpstreamRole[];
  readonly tlsInsecureSkipVerify: readonly UpstreamRole[];
  readonly tlsCa?: string;
}

export function addTlsOptions(command: Command): Command {
  return command
    .option('--secure-serving', 'serve the port by TLS', false)
    .option(
      '--cert-path <folder>',
      'folder with tls.crt and tls.key for that, read again when they change; without it a ' +
        'self-signed certificate is made',
    )
    .option('--tls-min-version <version>', 'oldest version of TLS: 1.2 or 1.3', '1.2')
    .option(
      '--tls-cipher-suites <names>',
      'cipher suites by their standard names, separated by commas; default: those of Node',
    )
    .option('--enable-tls <role,…>', 'use TLS to prefiller, decoder, encoder', roles, [])
    .option('--tls-insecure-skip-verify <role,…>', 'do not verify certificates of these', roles, [])
    .option(
      '--tls-ca <file>',
      'PEM file of the CAs to trust instead of the well-known ones, read again when it changes',
    );
}

/** Several flags add up. */
function roles(text: string, before: readonly UpstreamRole[]): readonly UpstreamRole[] {
  const named = text.split(',').map((each) => {
    const role = UPSTREAM_ROLES.find((name) => name === each.trim());
    if (role !== undefined) return role;
    throw new InvalidArgumentError(`${each} is none of ${UPSTREAM_ROLES.join(', ')}.`);
  });
  return [...before, ...named];
}
