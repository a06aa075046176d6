import type { ReplacementReport } from '../../framework/replacement.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { Headroom } from '../../journal/headroom/headroom.ts';
import type { Promotion } from '../../lab/promotion/promotion.ts';
import type { Shadow } from '../../lab/shadow/start-shadow.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { ControlledRouter } from '../../picker/waiting/controlled-router.ts';
import type { Replica } from '../../replicas/replica.ts';
import { isoTime } from '../../runtime/clock/iso-time.ts';
import { headroomDocument } from '../autoscaling/headroom-document.ts';
import type { AdminRoute } from './admin-routes.ts';
import { decisionDocuments } from './decision-documents.ts';
import { describePlugins } from './describe-plugins.ts';
import { describeWaiting } from './describe-waiting.ts';

/** Documents about schedulers, shadows, recent decisions and a promotion, by path. */
export function debugDocuments({
  picker,
  router,
  shadows,
  now,
  recorder,
  promotion,
  headroom,
  replica,
}: {
  readonly picker: EndpointPicker;
  /** The picker behind flow control. */
  readonly router: Pick<ControlledRouter, 'waitingRequests'>;
  readonly now: () => Millis;
  readonly shadows: readonly Shadow[];
  readonly recorder: DecisionRecorder | undefined;
  readonly promotion: Promotion | undefined;
  readonly headroom: Headroom;
  readonly replica: Replica | undefined;
}): ReadonlyMap<string, AdminRoute> {
  return new Map<string, AdminRoute>([
    ['/debug/scheduler', () => describeReplacement(picker.replacement())],
    ['/debug/replicas', () => replica?.status() ?? { shares: false }],
    ['/debug/plugins/state', () => describePlugins(picker)],
    ['/debug/headroom', () => headroomDocument(headroom)],
    [
      '/debug/waiting',
      () => {
        const { requests, byEndpoint } = picker.waits;
        return describeWaiting([...router.waitingRequests, ...requests], byEndpoint, now());
      },
    ],
    ['/debug/shadows', () => ({ shadows: shadows.map((shadow) => shadow.status()) })],
    ...(recorder === undefined ? [] : decisionDocuments(recorder)),
    ...(promotion === undefined ? [] : ([['/debug/promotion', () => promotion.status()]] as const)),
  ]);
}

/** What decides, as JSON: `profiles`, or the state of the scheduler in their place. */
function describeReplacement(report: ReplacementReport | undefined): object {
  if (report === undefined) return { decides: 'profiles' };
  const { declined, since, changes, ...rest } = report;
  return {
    decides: 'scheduler',
    ...rest,
    declined: Object.fromEntries(declined),
    ...(since !== undefined && { since: isoTime(since) }),
    ...(changes !== undefined && { changes: Object.fromEntries(changes) }),
  };
}
