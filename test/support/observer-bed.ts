import type { Document } from 'yaml';
import { envoyBinary, serveOptions, waitForPickers } from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER, renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import type { ServeSettings } from '../../src/serve/options/serve-options.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';

const OBSERVER = [...CONNECTION_MANAGER, 'http_filters', 1, 'typed_config'];

/** The observer's filter, which Envoy waits for, with bodies in this mode. */
const answered =
  (request: string, response: string) =>
  (config: Document): void => {
    config.deleteIn([...OBSERVER, 'observability_mode']);
    config.deleteIn([...OBSERVER, 'deferred_close_timeout']);
    // On a busy machine the default time-out of 200 ms would skip the observer.
    config.setIn([...OBSERVER, 'message_timeout'], '60s');
    config.setIn([...OBSERVER, 'processing_mode', 'request_body_mode'], request);
    config.setIn([...OBSERVER, 'processing_mode', 'response_body_mode'], response);
  };

/** Wirings of the second filter: the shipped file, and one that Envoy waits for. */
export const WIRINGS: readonly (readonly [string, ((config: Document) => void) | undefined])[] = [
  ['observability_mode, as shipped', undefined],
  ['full duplex', answered('FULL_DUPLEX_STREAMED', 'FULL_DUPLEX_STREAMED')],
  ['streamed', answered('STREAMED', 'STREAMED')],
  ['buffered, answers unseen', answered('BUFFERED', 'NONE')],
];

/** An Envoy with a picker and an observer of its requests. */
export async function envoyWith(
  pickerPort: number,
  observerPort: number,
  edit?: (config: Document) => void,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const configYaml = renderEnvoyConfig({
    wiring: 'envoy-observer',
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${pickerPort}`,
    observerAddress: `127.0.0.1:${observerPort}`,
    edit: (config) => {
      waitForPickers(config);
      edit?.(config);
    },
  });
  const { listenerPort, stop } = await startEnvoy({
    binary: (await envoyBinary()) ?? '',
    configYaml,
    log: () => undefined,
  });
  return { url: `http://127.0.0.1:${listenerPort}`, stop };
}

/** Stands for the reference picker: another ext_proc server, with the reference's configuration. */
export const startPicker = (options: Partial<ServeSettings>): Promise<Serving> =>
  startServe(serveOptions(options, 'reference-default'));
/** A picker that observes another, with the default configuration. */
export const startObserver = (options: Partial<ServeSettings>): Promise<Serving> =>
  startServe(serveOptions({ observe: true, ...options }));

/** Sends a completion of three tokens. */
export function ask(url: string, prompt: string, stream = false): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'theirs' },
    body: JSON.stringify({ model: 'm', prompt, max_tokens: 3, stream }),
  });
}

/** What an observer's page counts, by outcome. */
export async function observed(metricsPort: number): Promise<Readonly<Record<string, number>>> {
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const rows = page.matchAll(/^pointsman_observed_requests_total\{outcome="([^"]+)"\} (\d+)/gm);
  return Object.fromEntries([...rows].map(([, outcome = '', count]) => [outcome, Number(count)]));
}

/** The requests of all outcomes together. */
export const counted = (outcomes: Readonly<Record<string, number>>): number =>
  Object.values(outcomes).reduce((sum, count) => sum + count, 0);
