import type { Endpoint, EndpointId } from '../framework/endpoint.ts';
import type { Candidates, Declined } from '../framework/plugin.ts';
import type { DecisionMessage } from './messages.ts';

/** What a scheduler has decided, by ids that mean the same later. */
export interface CheckedDecision {
  readonly refuse: boolean;
  readonly targets: readonly { readonly id: EndpointId; readonly score: number }[];
  readonly prefill: EndpointId | undefined;
  readonly headers: ReadonlyMap<string, string>;
}

const HEADERS_MAX = 32;
const HEADER_CHARACTERS_MAX = 4096;
/** Set by the proxy, the picker or the protocol itself. */
const RESERVED =
  /^(?:host|connection|content-length|transfer-encoding|te|upgrade|keep-alive|x-gateway-.*|x-envoy-.*)$/;
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
/** Visible characters, spaces and tabs. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Checks an answer against what it was asked for. Declined where it has no opinion, or makes no sense. */
export function readDecision(
  decision: DecisionMessage,
  { endpoints }: Candidates,
): CheckedDecision | Declined {
  if (decision.targets.length === 0) return withoutTargets(decision);
  const idOf = bySlot(endpoints);
  const targets: { id: EndpointId; score: number }[] = [];
  for (const { slot, score } of decision.targets) {
    const id = idOf.get(slot);
    if (id === undefined) return { declined: 'not-a-candidate' };
    if (!Number.isFinite(score)) return { declined: 'bad-score' };
    // So that a target given twice is no candidate the second time.
    idOf.delete(slot);
    targets.push({ id, score });
  }
  const { prefillSlot } = decision;
  const prefill = endpoints.find(({ slot }) => slot === prefillSlot)?.id;
  if (prefillSlot !== undefined && prefill === undefined) return { declined: 'not-a-candidate' };
  const headers = Object.entries(decision.headers);
  if (headers.length > HEADERS_MAX || !headers.every(isGoodHeader))
    return { declined: 'bad-header' };
  const elsewhere = prefill === targets[0]?.id ? undefined : prefill;
  return { refuse: false, targets, prefill: elsewhere, headers: new Map(headers) };
}

function withoutTargets({ refuse }: DecisionMessage): CheckedDecision | Declined {
  if (!refuse) return { declined: 'no-opinion' };
  return { refuse, targets: [], prefill: undefined, headers: new Map() };
}

function bySlot(endpoints: readonly Endpoint[]): Map<number, EndpointId> {
  return new Map(endpoints.map(({ slot, id }) => [slot, id]));
}

function isGoodHeader([name, value]: readonly [string, string]): boolean {
  return (
    HEADER_NAME.test(name) &&
    !RESERVED.test(name) &&
    value.length <= HEADER_CHARACTERS_MAX &&
    HEADER_VALUE.test(value)
  );
}
