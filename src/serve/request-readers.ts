import type { Registry } from 'prom-client';
import type { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import type { SessionOptions } from '../extproc/session/session.ts';
import { type HashSecret, KeyedHash } from '../framework/keyed-hash.ts';
import type { ParserType } from '../framework/parser-type.ts';
import { countBy } from '../journal/metrics/process/refusal-metrics.ts';
import { CONTROL_FIELDS } from '../openai/body/control-fields.ts';
import { CONTROL_HEADERS, withoutControls } from '../openai/control-headers.ts';
import { createOpenBody, headerOnlyRequest } from '../openai/parsers/open-body.ts';
import { requestIdentity } from '../openai/request-identity.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { ServeOptions } from './serve-options.ts';

interface ReaderParts {
  readonly picker: EndpointPicker;
  readonly rules: RequestRules;
  readonly secret: HashSecret;
  /** Those of the plan in charge. */
  readonly parsers: () => readonly ParserType[];
  readonly propagatesPriority: () => boolean;
  readonly registry: Registry;
}

/** How the requests of a listener are read. */
export function requestReaders(
  { bodyBytesMax, trustClientControls = false, observe = false }: ServeOptions,
  { picker, rules, secret, registry, parsers, ...parts }: ReaderParts,
): Pick<SessionOptions, 'openBody' | 'headerOnly'> {
  const hash = new KeyedHash(secret);
  const priorityOf = rules.priorityOf.bind(rules);
  // An observer sees requests after the other picker has rewritten them, and changes none.
  const rewriteOf = observe ? undefined : rules.rewriteOf.bind(rules);
  const onIgnored = trustClientControls || observe ? undefined : ignoredCounter(registry);
  const identified = requestIdentity({
    plugins: () => picker.observers(),
    onFault: (plugin, error) => picker.faults.report(plugin, 'fairnessId', error),
  });
  const propagatesPriority = observe ? undefined : parts.propagatesPriority;
  const given = { priorityOf, rewriteOf, parsers, propagatesPriority, onIgnored };
  const openBody = createOpenBody({ bodyBytesMax, hashSeed: secret, ...given });
  return {
    openBody: (head) => openBody(identified(head)),
    headerOnly: (head) => {
      const read = onIgnored === undefined ? head : withoutControls(head, onIgnored);
      return headerOnlyRequest(identified(read), priorityOf, hash);
    },
  };
}

function ignoredCounter(registry: Registry): (control: string) => void {
  return countBy(registry, 'control', [...CONTROL_HEADERS, ...CONTROL_FIELDS], {
    name: 'pointsman_client_controls_ignored_total',
    help: 'Control headers and fields of clients that were ignored, by name.',
  });
}
