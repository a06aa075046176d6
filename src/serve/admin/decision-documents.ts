import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { Segment } from '../../journal/explain/decision-ring.ts';
import { type Explanation, outcomeOf } from '../../journal/explain/explanation.ts';
import type { FlowRecord } from '../../journal/explain/last-flow-stays.ts';
import type { RefusedRequest } from '../../journal/explain/last-refusals.ts';
import type { RequestAnswer } from '../../journal/explain/latest-answers.ts';
import type { RequestTimes } from '../../journal/explain/request-times.ts';
import { type RecordedDecision, SegmentReader } from '../../journal/explain/segment-reader.ts';
import type { ControlledRouter } from '../../picker/flow-control/controlled-router.ts';
import { HttpError } from './admin-routes.ts';
import { type ExplainedRequest, explainedRequest } from './explained-request.ts';

/** An explanation without its details. */
export interface DecisionLine extends Omit<Explanation, 'streaming' | 'candidates' | 'profiles'> {
  readonly candidates: number;
  /** Left out where the request was not routed, or so long ago that its times are not kept. */
  readonly times?: RequestTimes;
  /** Likewise. */
  readonly answer?: RequestAnswer;
}

export interface DecisionList {
  /** The picker's time, in milliseconds since the epoch. */
  readonly wallMs: number;
  /** The number of decisions held, and of their bytes. */
  readonly held: { readonly decisions: number; readonly bytes: number };
  /** Latest first. */
  readonly decisions: readonly DecisionLine[];
  /**
   * Requests that have no decision since the first of these, because flow control or a limit refused
   * them, or they could not be read, the latest first of each kind; left out for none, and where earlier
   * decisions are asked for.
   */
  readonly refused?: readonly (FlowRecord | RefusedRequest)[];
  /** The value of `before` that asks for earlier ones; absent where there are none. */
  readonly before?: number;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1000;
/** Decisions that are read for one answer: the picker makes none meanwhile. */
const READ_MAX = 2048;
const PARAMETERS = ['limit', 'before', 'endpoint', 'model', 'outcome'];

/** The metrics port's documents about decisions, by path. They throw HttpError. */
export function decisionDocuments(
  recorder: DecisionRecorder,
  router?: Pick<ControlledRouter, 'stayOf'>,
): ReadonlyMap<string, (query: URLSearchParams) => unknown> {
  return new Map<string, (query: URLSearchParams) => unknown>([
    ['/debug/decisions', (query) => decisionList(recorder, query)],
    ['/debug/explain', (query) => explanationOf(query.get('id') ?? '', recorder, router)],
  ]);
}

function decisionList(recorder: DecisionRecorder, query: URLSearchParams): DecisionList {
  const { ring } = recorder;
  const { decisions, ...rest } = listed(ring.segments(), query);
  const [times, answers] = [recorder.times.byId(), recorder.answers.byId()];
  return {
    wallMs: recorder.wallMs(),
    held: ring.stats(),
    ...rest,
    decisions: decisions.map((line) => {
      const [found, answer] = [times.get(line.id), answers.get(line.id)];
      return {
        ...line,
        ...(found !== undefined && { times: found }),
        ...(answer !== undefined && { answer }),
      };
    }),
    ...refusedSince(recorder, decisions, query),
  };
}

function explanationOf(
  id: string,
  recorder: DecisionRecorder,
  router: Pick<ControlledRouter, 'stayOf'> | undefined,
): ExplainedRequest {
  if (id === '')
    throw new HttpError(400, 'no request is named: ask for /debug/explain?id=<request id>');
  const found = explainedRequest(id, recorder, router);
  if (found !== undefined) return found;
  throw new HttpError(404, unknownText(id, recorder.ring.stats().decisions));
}

function unknownText(id: string, decisions: number): string {
  const unknown = `no request ${JSON.stringify(id.slice(0, 200))}`;
  return decisions === 0
    ? `${unknown}: no decision has been made yet; where requests are sent, \`pointsman doctor\` says why none comes here`
    : `${unknown} among the last ${decisions} decisions; \`pointsman explain\` without an id lists the latest`;
}

/** With decisions of one endpoint, model or outcome alone, nothing else is listed. */
function refusedSince(
  { stays, refusals }: DecisionRecorder,
  decisions: readonly DecisionLine[],
  query: URLSearchParams,
): Pick<DecisionList, 'refused'> {
  if ([...query.keys()].some((key) => key !== 'limit')) return {};
  const since = decisions.at(-1)?.wallMs ?? Number.NEGATIVE_INFINITY;
  const limit = wholeNumber(query, 'limit', LIMIT_DEFAULT);
  const kept = stays.refusedSince(since, limit);
  const listed = new Set([...decisions, ...kept].flatMap(({ id, requestId }) => [id, requestId]));
  const refused = [...kept, ...refusals.since(since, limit, (id) => listed.has(id))];
  return refused.length === 0 ? {} : { refused };
}

function listed(
  segments: readonly Segment[],
  query: URLSearchParams,
): Pick<DecisionList, 'decisions' | 'before'> {
  const unknown = [...query.keys()].find((key) => !PARAMETERS.includes(key));
  if (unknown !== undefined) {
    throw new HttpError(
      400,
      `${unknown.slice(0, 50)} is no parameter; the parameters are ${PARAMETERS.join(', ')}`,
    );
  }
  const limit = wholeNumber(query, 'limit', LIMIT_DEFAULT);
  if (limit < 1 || limit > LIMIT_MAX)
    throw new HttpError(400, `limit must be from 1 to ${LIMIT_MAX}, not ${limit}`);
  const before = wholeNumber(query, 'before', Number.POSITIVE_INFINITY);
  const decisions: DecisionLine[] = [];
  let read = 0;
  for (const segment of segments.toReversed()) {
    if (segment.first >= before) continue;
    for (const line of linesOf(segment).toReversed()) {
      if (line.number >= before) continue;
      if (decisions.length === limit || read === READ_MAX) {
        return { decisions, before: line.number + 1 };
      }
      read += 1;
      if (fits(line, query)) decisions.push(line);
    }
  }
  return { decisions };
}

function wholeNumber(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  if (!/^\d{1,15}$/.test(text))
    throw new HttpError(400, `${name} must be a whole number, not ${text.slice(0, 50)}`);
  return Number(text);
}

function fits({ model, outcome }: DecisionLine, query: URLSearchParams): boolean {
  const is = (name: string, value: string | undefined): boolean =>
    (query.get(name) ?? value) === value;
  const endpoint = outcome.kind === 'picked' ? outcome.endpoint : undefined;
  return is('model', model) && is('outcome', outcome.kind) && is('endpoint', endpoint);
}

function linesOf(segment: Segment): readonly DecisionLine[] {
  const reader = new SegmentReader(segment);
  return Array.from({ length: segment.count }, (_, at) => {
    const { candidates, ending, ...decision }: RecordedDecision = reader.next('without-scores');
    const { id, requestId, model, promptTokens } = decision;
    return {
      number: segment.first + at,
      id,
      requestId,
      wallMs: decision.at + segment.wallOffsetMs,
      model,
      promptTokens,
      candidates: candidates.length,
      outcome: outcomeOf(ending, segment),
    };
  });
}
