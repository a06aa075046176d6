import type { Command } from 'commander';
import type { ServeOptions } from '../serve/serve-options.ts';
import { adminTokenOption } from './ask-picker.ts';

/** Flags of `serve` about who gets in, which `startServe` takes as they are. */
export type AccessFlags = Pick<
  ServeOptions,
  'insecure' | 'certPath' | 'adminTokenFile' | 'adminRemote' | 'metricsTokenFile'
>;

export function addAccessOptions(command: Command): Command {
  return command
    .option('--insecure', 'serve ext_proc without TLS', false)
    .option(
      '--cert-path <folder>',
      'folder with tls.crt and tls.key for ext_proc; without it a self-signed certificate is made',
    )
    .addOption(
      adminTokenOption('token for actions of the metrics port; made if the file is missing'),
    )
    .option('--admin-remote', 'answer /debug and actions also to other machines, with that token')
    .option('--metrics-token-file <file>', 'answer /metrics only with the token in this file');
}
