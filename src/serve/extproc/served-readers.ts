import type { Registry } from 'prom-client';
import type { RequestRules } from '../../endpoints/rewrites/request-rules.ts';
import type { SessionOptions } from '../../extproc/session/session.ts';
import type { HashSecret } from '../../framework/values/keyed-hash.ts';
import { countBy } from '../../journal/metrics/page/count-by.ts';
import { CONTROL_FIELDS } from '../../openai/body/control-fields.ts';
import { CONTROL_HEADERS } from '../../openai/control-headers.ts';
import { requestReaders } from '../../openai/parsers/request-readers.ts';
import { requestIdentity } from '../../openai/request-identity.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import type { RequestReading } from './request-reading.ts';

interface ReaderParts extends RequestReading {
  readonly picker: EndpointPicker;
  readonly rules: RequestRules;
  readonly secret: HashSecret;
  readonly onIgnored: ((control: string) => void) | undefined;
}

/** How the requests of a listener are read. */
export function servedReaders(
  { requests: { bodyBytesMax }, observe = false }: ServeOptions,
  { picker, rules, secret, parsers, onIgnored, ...parts }: ReaderParts,
): Pick<SessionOptions, 'openBody' | 'headerOnly'> {
  return requestReaders({
    bodyBytesMax,
    secret,
    parsers,
    priorityOf: rules.priorityOf.bind(rules),
    // An observer sees requests after the other picker has rewritten them, and changes none.
    rewriteOf: observe ? undefined : rules.rewriteOf.bind(rules),
    propagatesPriority: observe ? undefined : parts.propagatesPriority,
    prompts: parts.prompts,
    onIgnored,
    identified: identityBy(picker),
  });
}

/** Adds to a head what the picker's plugins find in its headers. */
export function identityBy(picker: EndpointPicker): ReturnType<typeof requestIdentity> {
  return requestIdentity({
    plugins: () => picker.observers(),
    onFault: (plugin, error) => picker.faults.report(plugin, 'fairnessId', error),
  });
}

/** Counts controls of clients that are ignored; undefined where none is. */
export function ignoredControls(
  { requests: { trustClientControls = false }, observe = false }: ServeOptions,
  registry: Registry,
): ((control: string) => void) | undefined {
  if (trustClientControls || observe) return undefined;
  return countBy(registry, 'control', [...CONTROL_HEADERS, ...CONTROL_FIELDS], {
    name: 'pointsman_client_controls_ignored_total',
    help: 'Control headers and fields of clients that were ignored, by name.',
  });
}
