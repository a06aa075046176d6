import type { handleUnaryCall, Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

/** Service names that gateways ask for: none, ext_proc, and those of the reference's probes. */
const SERVICES = [
  '',
  'envoy.service.ext_proc.v3.ExternalProcessor',
  'inference-extension',
  'readiness',
] as const;
const LIVENESS = 'liveness';

/** gRPC health for all servers of the picker: live from the start, serving after `setServing`. */
export class Health {
  #serving = false;
  readonly #implementation = new HealthImplementation({ [LIVENESS]: 'SERVING' });

  constructor() {
    this.setServing(false);
  }

  addTo(server: Server): void {
    this.#implementation.addToServer({
      addService: (service, handlers) => {
        const check: handleUnaryCall<{ readonly service: string }, { readonly status: string }> = (
          call,
          done,
        ) => done(null, { status: this.#statusOf(call.request.service) });
        server.addService(service, { ...handlers, check });
      },
    });
  }

  setServing(serving: boolean): void {
    this.#serving = serving;
    for (const service of SERVICES) {
      this.#implementation.setStatus(service, serving ? 'SERVING' : 'NOT_SERVING');
    }
  }

  /** A check by any other name, too, asks for the picker, as with the reference. */
  #statusOf(service: string): string {
    return service === LIVENESS || this.#serving ? 'SERVING' : 'NOT_SERVING';
  }
}
