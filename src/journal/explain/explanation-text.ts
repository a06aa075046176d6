import { firstOf } from '../../framework/values/first-of.ts';
import { countOf, grouped } from '../../framework/values/grouped.ts';
import { textTable } from '../../framework/values/text-table.ts';
import { deciderText, NO_ENDPOINT } from '../../picker/cycles/cycle.ts';
import type {
  ExplainedOutcome,
  ExplainedProfile,
  ExplainedScorer,
  ExplainedWait,
  Explanation,
  RunnerUp,
} from './explanation.ts';
import { flowLines } from './flow-text.ts';
import type { ExplainedFlow, FlowRecord } from './last-flow-stays.ts';
import type { RefusedRequest } from './last-refusals.ts';
import { answerText } from './latest-answers.ts';
import { leftOutText } from './left-out-text.ts';

/** The rows and names that are shown unless `all` asks for the others. */
const ENDPOINTS_SHOWN = 12;
const NAMES_SHOWN = 8;

interface TextOptions {
  /** Every endpoint, however many. */
  readonly all: boolean;
  /** The time of the decision. */
  readonly time: string;
  /** Tables are at most as wide, in characters; without it as wide as they are. */
  readonly columns?: number;
}

/** A decision as a page for a terminal. */
export function explanationText(explanation: Explanation, options: TextOptions): string {
  const { faults, insteadOf, waited, profiles } = explanation;
  const { lostRequests, flowControl, evicted, answer } = explanation;
  const lines = [
    `request    ${namesText(explanation)}, decision ${grouped(explanation.number)}`,
    askedText(explanation, options.time),
    ...waitLines(flowControl, waited),
    `went to    ${outcomeText(explanation.outcome)}`,
    ...(evicted === undefined ? [] : [`evicted    ${evicted}`]),
    ...(answer === undefined ? [] : [`answer     ${answerText(answer)}`]),
    ...(lostRequests === undefined ? [] : [`lost       ${lostText(lostRequests)}`]),
    ...(insteadOf === undefined ? [] : [`by         the profiles, in place of ${insteadOf}`]),
    ...(faults === undefined ? [] : [`without    ${faults}`]),
    `out of     ${candidatesText(explanation)}`,
    ...profiles.flatMap((profile) =>
      profileLines(profile, { ...options, isUnused: isUnusedPrefill(profile, explanation) }),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

/** A request that flow control keeps, or that left it without a decision, for a terminal. */
export function flowRecordText(record: FlowRecord, time: string): string {
  const lines = [
    `request    ${namesText(record)}, not decided`,
    askedText(record, time),
    ...waitLines(record.flowControl),
  ];
  return `${lines.join('\n')}\n`;
}

/** A request that the picker answered itself before a decision, for a terminal. */
export function refusedRequestText(request: RefusedRequest, time: string): string {
  const { requestId, model, refused } = request;
  const { status, reason, why } = refused;
  const lines = [
    `request    ${requestId}, not decided`,
    `asked      ${time}${model === '' ? '' : `  model ${model}`}`,
    `refused    with ${status} (${reason}): ${why}`,
  ];
  return `${lines.join('\n')}\n`;
}

function namesText({ id, requestId }: Pick<FlowRecord, 'id' | 'requestId'>): string {
  const also = requestId === '' || requestId === id ? '' : ` (${id})`;
  return `${requestId || id}${also}`;
}

function askedText(
  { model, promptTokens }: Pick<FlowRecord, 'model' | 'promptTokens'>,
  time: string,
): string {
  return `asked      ${time}  model ${model || '?'}  ${grouped(promptTokens)} prompt tokens`;
}

/** What flow control says where it kept the request; else for which endpoint it waited. */
function waitLines(flow: ExplainedFlow | undefined, waited?: ExplainedWait): readonly string[] {
  if (flow !== undefined) {
    return flowLines(flow).map((line, at) => `${at === 0 ? 'waited   ' : '         '}  ${line}`);
  }
  return waited === undefined ? [] : [`waited     ${waitText(waited)}`];
}

/** How long a request waited at the picker, and for what. */
function waitText({ waitedMs, endpoint, cachedTokens }: ExplainedWait): string {
  const duration = `${Math.round(waitedMs).toLocaleString('en')} ms`;
  if (endpoint === undefined) return duration;
  const holds = Math.round(cachedTokens).toLocaleString('en');
  return `${duration} for ${endpoint}, which has ${holds} of its tokens`;
}

/** Why an endpoint gets requests though many seem to be in flight there. */
function lostText(lost: number): string {
  return lost === 1
    ? '1 request in flight there seems lost: it is no load'
    : `${lost.toLocaleString('en')} requests in flight there seem lost: they are no load`;
}

/** How many candidates there were, and why others were none. */
function candidatesText({ candidates, besideTrial, leftOut }: Explanation): string {
  const count = countOf(candidates.length, 'endpoint');
  if (leftOut !== undefined) return `${count}; left out: ${leftOutText(leftOut)}`;
  if (besideTrial === undefined) return count;
  const others = besideTrial === 1 ? '1 other' : `${besideTrial} others`;
  return `${count}: the trial of an ejected one, beside ${others}`;
}

/** The endpoint that was picked, or why none was. */
export function outcomeText(outcome: ExplainedOutcome): string {
  if (outcome.kind === 'threw') return 'no endpoint: the scheduler failed';
  if (outcome.kind === 'refused') {
    return `no endpoint: the scheduler ${outcome.refusedBy} refused the request`;
  }
  if (outcome.kind === 'screened') return 'no endpoint: screening left none';
  if (outcome.kind === 'rejected') return `no endpoint: a plugin refused it: ${outcome.why}`;
  if (outcome.kind === 'expired' || outcome.kind === 'no-candidates') {
    return `no endpoint: ${outcome.why.replace(NO_ENDPOINT, '')}`;
  }
  if (outcome.kind === 'exhausted')
    return `no endpoint: the filters of profile ${outcome.profile} left none`;
  const { endpoint, score, prefill, decidedBy } = outcome;
  return [
    `${endpoint}, score ${figure(score)}`,
    ...(prefill === undefined ? [] : [`prompt computed on ${prefill}`]),
    ...(decidedBy === undefined ? [] : [`decided by ${deciderText(decidedBy)}`]),
  ].join('; ');
}

/**
 * Whether this profile picked where to compute the prompt, and it is computed where it is decoded.
 */
function isUnusedPrefill(
  { profile, filters }: ExplainedProfile,
  { outcome }: Explanation,
): boolean {
  if (outcome.kind !== 'picked' || outcome.profile === profile) return false;
  return outcome.prefill === undefined && filters.some(({ filter }) => filter === 'prefill-filter');
}

function profileLines(
  profile: ExplainedProfile,
  options: TextOptions & { readonly isUnused: boolean },
): readonly string[] {
  const { filters, scorers, endpoints, notKept, picked, runnerUp } = profile;
  // The endpoint on trial was the only candidate.
  const beside = picked.filter((name) => endpoints.every(({ endpoint }) => endpoint !== name));
  const shown = options.all ? endpoints.length : ENDPOINTS_SHOWN;
  const hidden = Math.max(0, endpoints.length - shown);
  return [
    '',
    `profile ${profile.profile}`,
    ...(options.isUnused
      ? ['  its pick is not used: the prompt is computed where it is decoded']
      : []),
    ...filters.map(({ filter, dropped }) => `  ${filter} dropped ${namesOf(dropped)}`),
    ...(endpoints.length === 0 ? [] : ['', ...scoresTable(profile, shown, options.columns)]),
    ...(hidden === 0 ? [] : [`  … and ${hidden} more (--all)`]),
    ...(notKept === 0 ? [] : [`  … and ${notKept} whose lower scores are not kept`]),
    ...(beside.length === 0 ? [] : [`  it is on trial; fallbacks: ${namesOf(beside)}`]),
    ...scorers.flatMap((scorer, at) => termsTable(profile, scorer, at, options.columns)),
    ...(runnerUp === undefined ? [] : ['', ...runnerUpLines(runnerUp, scorers.length)]),
  ];
}

function namesOf(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const { shown, more } = firstOf(names, NAMES_SHOWN);
  return `${grouped(names.length)}: ${shown.join(', ')}${more === 0 ? '' : ` and ${grouped(more)} more`}`;
}

function runnerUpLines(
  { endpoint, scoreBehind, costs }: RunnerUp,
  scorers: number,
): readonly string[] {
  const lines = costs.map(({ scorer, term, runnerUp, more }) => {
    const by = scorers > 1 ? ` by ${scorer}` : '';
    const unit = term.endsWith('Ms') ? ' ms' : '';
    const difference = `${figure(Math.abs(more))}${unit} ${more < 0 ? 'less' : 'more'} than the pick`;
    return (
      `  the runner-up ${endpoint} would have cost ${figure(runnerUp)}${unit} (${term}${by}), ` +
      (more === 0 ? 'as much as the pick' : difference)
    );
  });
  return [...lines, `  the runner-up ${endpoint} ${behindText(scoreBehind)}`];
}

/** How the runner-up compares in the total of its scores. */
function behindText(scoreBehind: number): string {
  if (scoreBehind === 0) return 'has the same score: chance decides between equals';
  if (scoreBehind > 0) return `is behind by ${figure(scoreBehind)} in score`;
  const ahead = figure(-scoreBehind);
  return `is ahead by ${ahead} in score: the picker does not go by scores alone`;
}

/** A row for each endpoint, with the pick marked; a column for the total and for each score. */
function scoresTable(
  profile: ExplainedProfile,
  shown: number,
  columns?: number,
): readonly string[] {
  const { scorers, endpoints, picked } = profile;
  const heads = scorers.map(({ scorer, weight }) => `${scorer}×${weight}`);
  const rows = endpoints.slice(0, shown).map(({ endpoint, total, scores }) => {
    const rank = picked.indexOf(endpoint);
    const mark = rank === 0 ? '→' : rank > 0 ? String(rank + 1) : '';
    return [mark, endpoint, figure(total), ...scores.map(figure)];
  });
  return textTable([['', 'endpoint', 'total', ...heads], ...rows], 2, columns);
}

/** A row for each term that is not 0, with a column for the pick and one for the runner-up. */
function termsTable(
  { endpoints, picked, runnerUp }: ExplainedProfile,
  { scorer, terms }: ExplainedScorer,
  at: number,
  columns?: number,
): readonly string[] {
  const shown = [picked[0], runnerUp?.endpoint].flatMap((name) =>
    endpoints.filter(({ endpoint }) => endpoint === name),
  );
  const rows = terms.map((term, index) => ({
    term,
    values: shown.map((endpoint) => endpoint.terms[at]?.[index]),
  }));
  const cells = rows
    .filter(({ values }) => values.some((value) => value !== 0))
    .map(({ term, values }) => [term, ...values.map(figure)]);
  if (cells.length === 0) return [];
  const heads = [scorer, ...shown.map(({ endpoint }) => endpoint)];
  return ['', ...textTable([heads, ...cells], 1, columns)];
}

/** Four significant digits. */
function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return grouped(Math.round(value) + 0);
  return String(Number(value.toPrecision(4)));
}
