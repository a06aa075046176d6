import type { ReplayFigures } from './summarize-replay.ts';

/** Above it the sender's own lateness shows in first tokens. */
const LATE_MS = 10;
/** Token counts that differ by less are the same work. */
const TOKENS_OFF_MAX = 0.005;

/** What a reader must know of a live run beside its table, a sentence a line. */
export function describeReplay(figures: ReplayFigures): readonly string[] {
  const { planned, due, durationMs, underWayMax, late, tokenGap, refused, errors } = figures;
  return [
    `${due.toLocaleString('en')} of ${planned.toLocaleString('en')} requests were due in ${(durationMs / 1000).toFixed(1)} s; up to ${underWayMax.toLocaleString('en')} under way at once.`,
    ...(figures.stopped
      ? [`Stopped by hand: ${figures.unfinished} answers were cut, and are in none of the figures.`]
      : []),
    `Times count from when a request was due. Requests left ${ms(late.p50)} late (p50), ${ms(late.p99)} (p99), ${ms(late.max)} at most${late.p99 > LATE_MS ? ': this machine was too busy, and its lateness is in the figures.' : '.'}`,
    ...(Number.isNaN(tokenGap.p50)
      ? []
      : [`Between tokens: ${ms(tokenGap.p50)} (p50), ${ms(tokenGap.p99)} (p99).`]),
    ...(refused === 0
      ? []
      : [
          `${refused} were not sent, for as many as --concurrency allows were under way; they count as failed.`,
        ]),
    ...errors.map(
      ({ kind, count, first }) =>
        `${count} failed: ${kind}${first === '' ? '' : `, first “${first}”`}.`,
    ),
    ...tokenNotes(figures),
  ];
}

function tokenNotes({ tokens, cacheReported }: ReplayFigures): readonly string[] {
  if (tokens.answers === 0) {
    return ['The target does not say how many tokens it counts: sizes are the trace’s.'];
  }
  const off = (asked: number, counted: number): number => counted / asked - 1;
  const prompt = off(tokens.promptAsked, tokens.promptCounted);
  const output = off(tokens.outputAsked, tokens.outputCounted);
  return [
    `The target counts ${tokens.promptCounted.toLocaleString('en')} prompt tokens where the trace has ${tokens.promptAsked.toLocaleString('en')} (${percent(prompt)})${Math.abs(prompt) > TOKENS_OFF_MAX ? ': its tokenizer or template is another; see --template-tokens.' : '.'}`,
    ...(Math.abs(output) > TOKENS_OFF_MAX
      ? [
          `Answers had ${percent(output)} of the trace’s tokens: the target does not hold to ignore_eos, and its work is another.`,
        ]
      : []),
    ...(cacheReported
      ? []
      : [
          'No answer said that any of its prompt was in a cache: hits may be unknown rather than none.',
        ]),
  ];
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')} ms`;
}

function percent(value: number): string {
  return `${value >= 0 ? '+' : '−'}${Math.abs(100 * value).toFixed(2)} %`;
}
