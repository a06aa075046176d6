import type { RequestRules } from '../../endpoints/rewrites/request-rules.ts';
import type { ReplacementReport } from '../../framework/replacement.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { Headroom } from '../../journal/headroom/headroom.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { ControlledRouter } from '../../picker/flow-control/controlled-router.ts';
import type { Promotion } from '../../promotion/promotion.ts';
import type { Replica } from '../../replicas/replica.ts';
import { isoTime } from '../../runtime/clock/iso-time.ts';
import type { Shadow } from '../../shadow/start-shadow.ts';
import { headroomDocument } from '../autoscaling/headroom-document.ts';
import type { AdminRoute } from './admin-routes.ts';
import { decisionDocuments } from './decision-documents.ts';
import { type DescribedParts, describeEndpoints } from './describe-endpoints.ts';
import { describePlugins } from './describe-plugins.ts';
import { waitingNow } from './describe-waiting.ts';

interface DocumentParts extends DescribedParts {
  /** The picker behind flow control. */
  readonly router: Pick<ControlledRouter, 'waitingRequests' | 'stayOf'>;
  readonly rules: Pick<RequestRules, 'describe'>;
  readonly shadows: readonly Shadow[];
  readonly recorder: DecisionRecorder | undefined;
  readonly promotion: Promotion | undefined;
  readonly headroom: Headroom;
  readonly replica: Replica | undefined;
}

/** All documents under `/debug`, by path. */
export function debugDocuments(
  parts: DocumentParts,
  now: () => Millis,
): ReadonlyMap<string, AdminRoute> {
  const { picker, router, rules, shadows, recorder, promotion, headroom, replica } = parts;
  return new Map<string, AdminRoute>([
    ['/debug/endpoints', () => describeEndpoints(parts, now())],
    ['/debug/rules', () => rules.describe()],
    ['/debug/scheduler', () => describeSchedulers(picker)],
    ['/debug/replicas', () => replica?.status() ?? { shares: false }],
    ['/debug/plugins/state', () => describePlugins(picker)],
    ['/debug/headroom', () => headroomDocument(headroom)],
    ['/debug/waiting', () => waitingNow({ picker, router }, now())],
    ['/debug/shadows', () => ({ shadows: shadows.map((shadow) => shadow.status()) })],
    ...(recorder === undefined ? [] : decisionDocuments(recorder, router)),
    ...(promotion === undefined ? [] : ([['/debug/promotion', () => promotion.status()]] as const)),
  ]);
}

/** The scheduler in charge, and that of a promoted shadow, where it has one. */
function describeSchedulers(picker: EndpointPicker): object {
  const { challenger, ...report } = picker.challengerReplacement() ?? {};
  const promoted = challenger !== undefined && {
    promoted: { shadow: challenger, ...describeReplacement(report as ReplacementReport) },
  };
  return { ...describeReplacement(picker.replacement()), ...promoted };
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
