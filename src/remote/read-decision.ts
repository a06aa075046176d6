import type { Endpoint, EndpointId } from '../framework/endpoint.ts';
import { type Candidates, type Declined, NO_OPINION } from '../framework/replacement.ts';
import { NEWER_SERVER_HEADERS } from '../framework/routing.ts';
import type { Decision, ScoredEndpoint } from '../framework/scheduling.ts';
import type { DecisionMessage } from './messages.ts';

/** A valid decision, with ids, as slots may be reused before it is applied. */
export interface CheckedDecision {
  readonly refuse: boolean;
  readonly targets: readonly { readonly id: EndpointId; readonly score: number }[];
  readonly prefill: EndpointId | undefined;
  readonly headers: ReadonlyMap<string, string>;
}

/** The profile's name in reports. */
const PROFILE = 'remote';
const HEADERS_MAX = 32;
const HEADER_CHARACTERS_MAX = 4096;
/**
 * Names and values of all together: model servers refuse requests with more than 16 to 64 KB of
 * headers.
 */
const HEADERS_CHARACTERS_MAX = 8192;
/** Headers that only the proxy, the picker or the protocol may set. */
const RESERVED =
  /^(?:host|connection|content-length|transfer-encoding|te|upgrade|keep-alive|x-gateway-.*|x-envoy-.*)$/;
/**
 * They lead the sidecar to other servers: those must be candidates, which headers say nothing
 * about.
 */
const TO_SERVERS = new Set(Object.entries(NEWER_SERVER_HEADERS).flat());
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
/** Visible characters, spaces and tabs. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Checks a decision. Declines one that is invalid or has no opinion. */
export function checkDecision(
  decision: DecisionMessage,
  { endpoints }: Candidates,
): CheckedDecision | Declined {
  const { refuse, prefillSlot } = decision;
  if (decision.targets.length === 0) {
    if (!refuse) return { declined: NO_OPINION };
    return { refuse, targets: [], prefill: undefined, headers: new Map() };
  }
  const idOf = new Map(endpoints.map(({ slot, id }) => [slot, id]));
  const prefill = prefillSlot === undefined ? undefined : idOf.get(prefillSlot);
  const targets: { id: EndpointId; score: number }[] = [];
  for (const { slot, score } of decision.targets) {
    const id = idOf.get(slot);
    if (id === undefined) return { declined: 'not-a-candidate' };
    if (!Number.isFinite(score)) return { declined: 'bad-score' };
    // A repeated target is not a candidate the second time.
    idOf.delete(slot);
    targets.push({ id, score });
  }
  if (prefillSlot !== undefined && prefill === undefined) return { declined: 'not-a-candidate' };
  const headers = Object.entries(decision.headers);
  const characters = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  const many = headers.length > HEADERS_MAX || characters > HEADERS_CHARACTERS_MAX;
  if (many || !headers.every(isValidHeader)) return { declined: 'bad-header' };
  return { refuse: false, targets, prefill, headers: new Map(headers) };
}

function isValidHeader([name, value]: readonly [name: string, value: string]): boolean {
  return (
    HEADER_NAME.test(name) &&
    !RESERVED.test(name) &&
    !TO_SERVERS.has(name) &&
    value.length <= HEADER_CHARACTERS_MAX &&
    HEADER_VALUE.test(value)
  );
}

/** Applies a decision to the present endpoints. Declines it if none of its targets is left. */
export function toDecision(
  { refuse, targets, prefill, headers }: CheckedDecision,
  endpoints: readonly Endpoint[],
  decidedBy: string,
): Decision | Declined {
  if (refuse) {
    const primary = { kind: 'exhausted', profile: PROFILE, candidates: endpoints.length } as const;
    return { primary, headers, profiles: [primary], decidedBy };
  }
  const present = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const left = targets.flatMap(({ id, score }): readonly ScoredEndpoint[] => {
    const endpoint = present.get(id);
    return endpoint === undefined ? [] : [{ endpoint, score }];
  });
  const prefillAt = prefill === undefined ? undefined : present.get(prefill);
  if (left.length === 0 || (prefill !== undefined && prefillAt === undefined)) {
    return { declined: 'endpoint-gone' };
  }
  const primary = { kind: 'picked', profile: PROFILE, targets: left } as const;
  return { primary, profiles: [primary], prefill: prefillAt, headers, decidedBy };
}
