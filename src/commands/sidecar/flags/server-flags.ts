import { type Command, InvalidArgumentError } from 'commander';
import { messageOf } from '../../../framework/error.ts';
import { type AllowedServers, listedServers } from '../../../sidecar/options/allowed-servers.ts';

/** Which servers requests may name. */
export interface ServerFlags {
  readonly prefillers?: AllowedServers;
  readonly encoders?: AllowedServers;
  readonly inferencePool?: string;
  readonly poolGroup: string;
  readonly kubeconfig?: string;
}

export function addServerOptions(command: Command): Command {
  return command
    .option(
      '--prefillers <server,…>',
      'prefilling servers that requests may name: host:port, or addresses such as 10.0.0.0/16; any private address without it',
      servers,
    )
    .option('--encoders <server,…>', 'the same for encoders of media', servers)
    .option(
      '--inference-pool <namespace/name>',
      'requests may name the pods of this InferencePool, and no other server',
    )
    .option(
      '--pool-group <group>',
      'API group of that InferencePool',
      'inference.networking.k8s.io',
    )
    .option('--kubeconfig <file>', 'how to reach the API server of that pool outside a cluster');
}

function servers(text: string): AllowedServers {
  try {
    return listedServers(text.split(',').map((each) => each.trim()));
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}
