import { X509Certificate } from 'node:crypto';
import { Gauge, type Registry } from '../../runtime/prom-client.ts';

/** Shows from when until when the certificate of a port is valid, in Unix time. */
export function showValidity(
  registry: Registry,
  { port, used }: { readonly port: string; readonly used: () => Buffer },
): void {
  const show = (name: string, help: string, end: 'validFrom' | 'validTo'): void =>
    void new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(Date.parse(new X509Certificate(used())[end]) / 1000);
      },
    });
  show(
    'pointsman_certificate_expiry_timestamp_seconds',
    `When the certificate of ${port} expires, in Unix time.`,
    'validTo',
  );
  show(
    'pointsman_certificate_begin_timestamp_seconds',
    `From when the certificate of ${port} is valid, in Unix time.`,
    'validFrom',
  );
}
