import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { Promotion } from '../../lab/promotion/promotion.ts';
import type { Shadow } from '../../lab/shadow/start-shadow.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { decisionDocuments } from './decision-documents.ts';
import { describeReplacement } from './describe-replacement.ts';

type Document = (query: URLSearchParams) => unknown;

/** What the metrics port tells of who decides, who looks on, and why it was decided so. */
export function debugDocuments({
  picker,
  shadows,
  recorder,
  promotion,
}: {
  readonly picker: EndpointPicker;
  readonly shadows: readonly Shadow[];
  readonly recorder: DecisionRecorder | undefined;
  readonly promotion: Promotion | undefined;
}): ReadonlyMap<string, Document> {
  return new Map<string, Document>([
    ['/debug/scheduler', () => describeReplacement(picker.replacement())],
    ['/debug/shadows', () => ({ shadows: shadows.map((shadow) => shadow.status()) })],
    ...(recorder === undefined ? [] : decisionDocuments(recorder)),
    ...(promotion === undefined ? [] : ([['/debug/promotion', () => promotion.status()]] as const)),
  ]);
}
