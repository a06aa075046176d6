import type { RequestControl } from '../framework/request-control.ts';
import type { RequestHead } from './body/body-reader.ts';
import { FAIRNESS_HEADERS } from './body/header-fields.ts';

interface IdentityOptions {
  /** The plugins in charge; another array after a change of the configuration. */
  readonly plugins: () => readonly object[];
  /** A plugin has thrown; the request goes on without it. */
  readonly onFault: (plugin: object, error: unknown) => void;
}

type Identifier = Required<Pick<RequestControl, 'fairnessId'>>;

/**
 * Gives a head without a fairness id the one that a plugin finds in its headers. The head itself
 * where no plugin looks for one, or none is found. The proxy's own headers stay as they are.
 */
export function requestIdentity({
  plugins,
  onFault,
}: IdentityOptions): (head: RequestHead) => RequestHead {
  let known: readonly object[] | undefined;
  let looking: readonly Identifier[] = [];
  return (head) => {
    const inCharge = plugins();
    if (inCharge !== known) {
      known = inCharge;
      looking = inCharge.filter(identifies);
    }
    if (looking.length === 0) return head;
    if (FAIRNESS_HEADERS.some((name) => (head.headers.get(name)?.trim() ?? '') !== '')) return head;
    for (const plugin of looking) {
      try {
        const id = plugin.fairnessId(head.headers);
        if (id !== undefined) {
          return { ...head, headers: new Map([...head.headers, [FAIRNESS_HEADERS[0], id]]) };
        }
      } catch (error) {
        onFault(plugin, error);
      }
    }
    return head;
  };
}

function identifies(plugin: object): plugin is Identifier {
  return 'fairnessId' in plugin && typeof plugin.fairnessId === 'function';
}
