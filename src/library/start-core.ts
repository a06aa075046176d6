import type { PluginFault } from '../framework/error.ts';
import type { Observer } from '../framework/observer.ts';
import type { FirstBand } from '../framework/routing.ts';
import { type Clock, type Network, noNetwork, type Random } from '../framework/runtime.ts';
import type { HashSecret } from '../framework/values/keyed-hash.ts';
import { EndpointPicker } from '../picker/endpoint-picker.ts';
import { ControlledRouter } from '../picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { Replica, type ReplicaOptions } from '../replicas/replica.ts';
import { seededRandom } from '../runtime/seeded-random.ts';

/** What a picker needs to share with others. */
export type EmbeddedReplica = Pick<ReplicaOptions, 'id' | 'openLink' | 'intervalMs'>;

interface StartOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly plan: PickerPlan;
  readonly observers: readonly Observer[];
  readonly onFault: (fault: PluginFault) => void;
  readonly replica: EmbeddedReplica | undefined;
  readonly secret: HashSecret;
  readonly schedulerNetwork?: Network | undefined;
}

/**
 * Starts the decision core without network, behind flow control where the plan has it, and lets it
 * share where a link is given.
 */
export function startCore({
  plan,
  seed,
  clock,
  observers,
  onFault,
  secret,
  schedulerNetwork,
  ...rest
}: StartOptions): {
  readonly picker: EndpointPicker;
  readonly router: ControlledRouter;
  readonly replica: Replica | undefined;
} {
  const random = seededRandom(seed);
  const network = noNetwork('an embedded picker');
  const waiting = (): FirstBand | undefined => router.firstBand;
  const replica =
    rest.replica && new Replica({ ...rest.replica, boot: bootOf(random), clock, waiting });
  const waitingElsewhere = replica && (() => replica.waitingElsewhere());
  const router = new ControlledRouter({ clock, waitingElsewhere });
  const subscribers = [...observers, router.observer];
  const picker = new EndpointPicker({
    plan,
    runtime: { clock, random, network, secret },
    ...(schedulerNetwork && {
      schedulerRuntime: { clock, random, network: schedulerNetwork, secret },
    }),
    subscribers: replica === undefined ? subscribers : [...subscribers, replica.subscriber],
    elsewhereObservers: [router.elsewhereObserver],
    onFault,
  });
  router.attach(picker);
  router.configure(plan.flowControl);
  replica?.start(picker);
  return { picker, router, replica };
}

function bootOf(random: Random): number {
  return Math.floor(random.fork('replica').next() * Number.MAX_SAFE_INTEGER);
}
