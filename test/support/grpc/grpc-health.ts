import { Client, credentials } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';

/** Asks a picker on 127.0.0.1 for the gRPC health of a service name, without TLS. */
export function health(port: number, service: string): Promise<string> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { Check } = healthService;
  if (Check === undefined) throw new Error('the health service has no Check');
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      Check.path,
      Check.requestSerialize,
      Check.responseDeserialize,
      { service },
      (error, answer) => {
        client.close();
        if (error) reject(error);
        else resolve(String((answer as { status: string }).status));
      },
    );
  });
}
