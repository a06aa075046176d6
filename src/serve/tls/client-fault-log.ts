import type { ClientFault, ClientFaultKind } from '../../extproc/server/port/client-faults.ts';
import type { Clock } from '../../framework/runtime.ts';
import { limitedWarnings } from '../../runtime/log/limited-log.ts';
import type { Log } from '../../runtime/log/log.ts';
import { Counter, type Registry } from '../../runtime/prom-client.ts';

const SENTENCES: Readonly<Record<ClientFaultKind, string>> = {
  'plaintext-to-tls':
    'a client does not use TLS at the ext_proc port, which needs it: give the proxy’s cluster a ' +
    'transport_socket with TLS, or start the picker with --insecure',
  'no-plaintext-http2':
    'a client does not use plaintext HTTP/2 at the ext_proc port: if the proxy’s cluster has a ' +
    'transport_socket with TLS, remove it, or start the picker without --insecure; if it has no ' +
    'http2_protocol_options, add them',
  'no-certificate':
    'a client has no certificate, and --client-ca-file demands one: give the proxy’s ' +
    'transport_socket a client certificate',
  'untrusted-certificate':
    'a client has a certificate that no authority in --client-ca-file has signed, or that is ' +
    'not valid now',
  'certificate-refused':
    'a client does not accept the picker’s certificate, because of its authority, a name in it, ' +
    'or its dates: correct what the proxy’s cluster demands, or give the picker another ' +
    'certificate with --cert-path',
  handshake: 'a TLS handshake with a client failed',
};

/** Counts clients that cannot connect, and says in the log what to change. */
export function clientFaultLog({
  registry,
  clock,
  log,
}: {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}): (fault: ClientFault) => void {
  const faults = new Counter({
    name: 'pointsman_client_faults_total',
    help: 'Connections to the ext_proc port that failed before their first stream, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of Object.keys(SENTENCES)) faults.inc({ reason }, 0);
  const warn = limitedWarnings(log, clock);
  return ({ kind, code, from }) => {
    faults.inc({ reason: kind });
    warn({ code, from }, SENTENCES[kind]);
  };
}
