import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

/** Names by which gateways ask: none, the ext_proc service, and those of the reference's probes. */
const SERVICES = [
  '',
  'envoy.service.ext_proc.v3.ExternalProcessor',
  'inference-extension',
  'readiness',
] as const;
const LIVENESS = 'liveness';

/** gRPC health for all our servers together: alive from the start, serving when told. */
export class Health {
  readonly #implementation = new HealthImplementation({ [LIVENESS]: 'SERVING' });

  constructor() {
    this.setServing(false);
  }

  addTo(server: Server): void {
    this.#implementation.addToServer(server);
  }

  setServing(serving: boolean): void {
    for (const service of SERVICES) {
      this.#implementation.setStatus(service, serving ? 'SERVING' : 'NOT_SERVING');
    }
  }
}
