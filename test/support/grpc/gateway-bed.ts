import type { Clock } from '../../../src/framework/runtime.ts';
import type { GatewayBounds } from '../../../src/gateway/gateway-bounds.ts';
import { type Gateway, startGateway } from '../../../src/gateway/start-gateway.ts';
import { type ScriptedServer, startScriptedServer } from '../sidecar/scripted-server.ts';
import { type ScriptedPicker, startScriptedPicker } from './scripted-picker.ts';

/** An embedded gateway before one endpoint and a picker that picks it. */
export interface GatewayBed {
  readonly endpoint: ScriptedServer;
  readonly picker: ScriptedPicker;
  readonly gateway: Gateway;
  stop(): Promise<void>;
}

export async function startGatewayBed(
  clock: Clock,
  bounds: Partial<GatewayBounds> = {},
): Promise<GatewayBed> {
  const endpoint = await startScriptedServer();
  const picker = await startScriptedPicker(endpoint.address);
  const gateway = await startGateway({
    host: '127.0.0.1',
    port: 0,
    extProcAddress: picker.address,
    extProcTls: false,
    bounds,
    clock,
    log: () => undefined,
  });
  const stop = async (): Promise<void> => {
    await gateway.stop();
    picker.stop();
    await endpoint.stop();
  };
  return { endpoint, picker, gateway, stop };
}
