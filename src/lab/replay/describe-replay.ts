import { grouped } from '../../framework/values/grouped.ts';
import type { ReplayFigures } from './summarize-replay.ts';

/** Above this, the sender's lateness is visible in the times to first token. */
const LATE_MS = 10;
/** Token counts that differ by less than this share are the same work. */
const TOKENS_OFF_MAX = 0.005;

const REFUSED_NOTE =
  'were not sent, because as many as --concurrency allows were under way; they count as failed.';

/** Sentences that a reader of a live run needs besides its table. */
export function describeReplay(figures: ReplayFigures): readonly string[] {
  const { planned, due, durationMs, underWayMax, late, tokenGap, refused, errors } = figures;
  return [
    `${grouped(due)} of ${grouped(planned)} requests were due in a run of ${(durationMs / 1000).toFixed(1)} s; up to ${grouped(underWayMax)} under way at once.`,
    ...(figures.stopped
      ? [
          `Stopped by hand: ${grouped(figures.unfinished)} answers were cut and are not in the figures.`,
        ]
      : []),
    `Times count from when a request was due. Requests were sent ${ms(late.p50)} late (p50), ${ms(late.p99)} (p99), ${ms(late.max)} at most${late.p99 > LATE_MS ? ': this machine was too busy, and the figures contain its lateness.' : '.'}`,
    ...(Number.isNaN(tokenGap.p50)
      ? []
      : [`Between tokens: ${ms(tokenGap.p50)} (p50), ${ms(tokenGap.p99)} (p99).`]),
    ...(refused > 0 ? [`${grouped(refused)} ${REFUSED_NOTE}`] : []),
    ...errors.map(
      ({ kind, count, first }) =>
        `${grouped(count)} failed: ${kind}${first === '' ? '' : `, first “${first}”`}.`,
    ),
    ...tokenNotes(figures),
  ];
}

function tokenNotes({ tokens, cacheReported }: ReplayFigures): readonly string[] {
  if (tokens.answers === 0) {
    return ['The target does not say how many tokens it counts; the sizes are those of the trace.'];
  }
  const off = (asked: number, counted: number): number => counted / asked - 1;
  const prompt = off(tokens.promptAsked, tokens.promptCounted);
  const output = off(tokens.outputAsked, tokens.outputCounted);
  return [
    `The target counts ${grouped(tokens.promptCounted)} prompt tokens where the trace has ${grouped(tokens.promptAsked)} (${percent(prompt)})${Math.abs(prompt) > TOKENS_OFF_MAX ? ': its tokenizer or template differs; see --template-tokens.' : '.'}`,
    ...(Math.abs(output) > TOKENS_OFF_MAX
      ? [
          `Answers had ${percent(output)} of the trace’s tokens: the target ignores ignore_eos, so its work differs from the trace’s.`,
        ]
      : []),
    ...(cacheReported
      ? []
      : ['No answer reported cached prompt tokens; there may have been hits all the same.']),
  ];
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : grouped(Math.round(value))} ms`;
}

function percent(value: number): string {
  return `${value >= 0 ? '+' : '−'}${Math.abs(100 * value).toFixed(2)} %`;
}
