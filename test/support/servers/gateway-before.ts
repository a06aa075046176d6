import { type Gateway, startGateway } from '../../../src/gateway/start-gateway.ts';
import { nodeClock } from '../../../src/runtime/clock/node-clock.ts';

type GatewayOptions = Parameters<typeof startGateway>[0];

/** The embedded gateway on a free port of the loopback, before the picker with this port. */
export function gatewayBefore(
  extProcPort: number,
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> {
  return startGateway({
    host: '127.0.0.1',
    port: 0,
    extProcAddress: `127.0.0.1:${extProcPort}`,
    extProcTls: false,
    clock: nodeClock(),
    log: () => undefined,
    ...options,
  });
}
