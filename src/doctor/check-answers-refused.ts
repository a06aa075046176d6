import { type EndpointRequests, kindsText, part } from './check-requests.ts';
import type { Finding } from './finding.ts';
import { someNames } from './some-names.ts';

/** A client with a wrong request may ask a few times. */
const REFUSED_MIN = 10;
const SHARE_MIN = 0.2;
/** Equal servers refuse equal shares, but for chance. */
const TIMES_THE_LOWEST = 2;
const NAMES_SHOWN = 3;

interface Refusing {
  readonly address: string;
  readonly requests: number;
  readonly refused: number;
  readonly kinds: readonly (readonly [status: string, count: number])[];
}

/**
 * Answers from 400 to 499: such a server is not ejected, because its requests may be to blame, and
 * gets requests as before. Where others refuse fewer, the server is to blame.
 */
export function checkAnswersRefused(endpoints: readonly EndpointRequests[]): readonly Finding[] {
  const all = endpoints.map((endpoint) => refusingOf(endpoint));
  const [requests, refused] = [sumOf(all, 'requests'), sumOf(all, 'refused')];
  if (refused < REFUSED_MIN) return [];
  const lowest = Math.min(
    ...all.filter((each) => each.requests >= REFUSED_MIN).map((each) => shareOf(each)),
  );
  const unlike = all.filter(
    (each) =>
      each.refused >= REFUSED_MIN &&
      shareOf(each) >= Math.max(SHARE_MIN, TIMES_THE_LOWEST * lowest),
  );
  if (unlike.length === 0 && refused / requests < SHARE_MIN) return [];
  const most = (unlike.length > 0 ? unlike : all).toSorted((a, b) => b.refused - a.refused);
  const names = most.map(
    (each) => `${each.address} ${part(each.refused, each.requests)} (${kindsText(each.kinds)})`,
  );
  return [
    {
      severity: 'warning',
      id: 'servers-refuse',
      where: `${most.length.toLocaleString('en')} of ${endpoints.length.toLocaleString('en')} endpoints`,
      what: `of the requests that ended in the last five minutes, at most the last 4,096, model servers refused ${part(refused, requests)}: ${someNames(names, NAMES_SHOWN)}.`,
      mend:
        unlike.length > 0
          ? 'Others refuse fewer, so ask these servers yourself, with one request: they may lack the model, take another key, or have a limit of requests. They are not ejected for such answers, as a request may be to blame: take them out of the pool until they answer.'
          : 'All refuse alike: look at what clients send (model, key, lengths), and at limits that the servers have in common.',
    },
  ];
}

function refusingOf({ address, latest }: EndpointRequests): Refusing {
  const kinds = Object.entries(latest?.refused ?? {}).toSorted(([, a], [, b]) => b - a);
  const refused = kinds.reduce((sum, [, count]) => sum + count, 0);
  return { address, requests: latest?.requests ?? 0, refused, kinds };
}

function shareOf({ refused, requests }: Refusing): number {
  return refused / requests;
}

function sumOf(all: readonly Refusing[], field: 'requests' | 'refused'): number {
  return all.reduce((sum, each) => sum + each[field], 0);
}
