import type { Command } from 'commander';
import type { AdminOptions, RequestOptions } from '../../serve/options/serve-options.ts';
import type { TlsOptions } from '../../serve/tls/start-tls.ts';
import { adminTokenOption } from '../admin-client/ask-picker.ts';

/** Flags of `serve` about who gets in, which `startServe` takes as they are. */
export type AccessFlags = TlsOptions & AdminOptions & Pick<RequestOptions, 'trustClientControls'>;

export function addAccessOptions(command: Command): Command {
  return command
    .option('--insecure', 'serve ext_proc without TLS', false)
    .option(
      '--cert-path <folder>',
      'folder with tls.crt and tls.key for ext_proc, read again when they change; without it a ' +
        'self-signed certificate is made',
    )
    .option(
      '--client-ca-file <file>',
      'accept only clients with a certificate of the authorities in this file',
    )
    .option('--tls-min-version <version>', 'oldest version of TLS: 1.2 or 1.3', '1.2')
    .option(
      '--tls-cipher-suites <names>',
      'cipher suites by their standard names, separated by commas; default: those of Node',
    )
    .addOption(
      adminTokenOption('token for actions of the metrics port; made if the file is missing'),
    )
    .option('--admin-remote', 'answer /debug and actions also to other machines, with that token')
    .option('--metrics-token-file <file>', 'answer /metrics only with the token in this file')
    .option(
      '--metrics-endpoint-auth',
      'answer /metrics only with a token that the API server allows to get it',
    )
    .option(
      '--metrics-cert-dir <folder>',
      'serve the metrics port by TLS with tls.crt and tls.key of this folder, read again when they change',
    )
    .option(
      '--metrics-client-ca-file <file>',
      'answer on the metrics port only clients with a certificate of the authorities in this file',
    )
    .option(
      '--pprof',
      'take profiles of CPU and heap at /debug/pprof/ of the metrics port, for whom may read /debug',
      false,
    )
    .option(
      '--trust-client-controls',
      'obey control headers and fields of clients, such as x-llm-d-model-name-rewrite and ' +
        'kv_transfer_params; see docs/model-rewrites.md',
      false,
    );
}
