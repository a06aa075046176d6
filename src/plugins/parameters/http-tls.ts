import { z } from 'zod';
import type { HttpTls } from '../../framework/runtime.ts';

/** An empty text, as Go writes what is not set, is none. */
type Text = z.ZodPipe<
  z.ZodOptional<z.ZodString>,
  z.ZodTransform<string | undefined, string | undefined>
>;
const text: Text = z
  .string()
  .optional()
  .transform((given) => given || undefined);

/** Parameters about HTTPS, for a strict object. The reference has all but `serverName`. */
export const httpTlsFields: {
  readonly insecureSkipVerify: z.ZodOptional<z.ZodBoolean>;
  readonly caCertPath: Text;
  readonly clientCertPath: Text;
  readonly clientKeyPath: Text;
  readonly serverName: Text;
} = {
  insecureSkipVerify: z.boolean().optional(),
  caCertPath: text,
  clientCertPath: text,
  clientKeyPath: text,
  serverName: text,
};

export interface HttpTlsParameters {
  readonly insecureSkipVerify?: boolean | undefined;
  readonly caCertPath?: string | undefined;
  readonly clientCertPath?: string | undefined;
  readonly clientKeyPath?: string | undefined;
  readonly serverName?: string | undefined;
}

/** What `refine` of that object reports. */
export const CLIENT_PAIR: { path: string[]; message: string } = {
  path: ['clientCertPath'],
  message: 'clientCertPath and clientKeyPath belong together: give both or neither',
};

export function hasClientPair({ clientCertPath, clientKeyPath }: HttpTlsParameters): boolean {
  return (clientCertPath === undefined) === (clientKeyPath === undefined);
}

export function httpTlsOf(parameters: HttpTlsParameters): HttpTls {
  const { caCertPath: caPath, clientCertPath: certPath, clientKeyPath: keyPath } = parameters;
  const { insecureSkipVerify = false, serverName } = parameters;
  return { caPath, certPath, keyPath, serverName, insecureSkipVerify };
}
