/** Numbers as people read them: three digits are enough to judge by. */

const THOUSANDS = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** A date as the picker writes it. */
const DAY = new Intl.DateTimeFormat('sv-SE');

/** @param {number} value */
export function count(value) {
  return THOUSANDS.format(value);
}

/** @param {number} size */
export function bytes(size) {
  return size < 999_500
    ? `${count(size / 1000)} kB`
    : `${(size / 1e6).toFixed(size < 1e8 ? 1 : 0)} MB`;
}

/** @param {number} value */
export function rate(value) {
  return value < 10 && value > 0 ? value.toFixed(1) : count(value);
}

/**
 * A duration with its unit; a dash where there is none.
 * @param {number | null | undefined} ms
 */
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  const size = Math.abs(ms);
  if (size >= 60_000) return `${(ms / 60_000).toFixed(1)} min`;
  if (size >= 1000) return `${(ms / 1000).toFixed(size >= 10_000 ? 0 : 1)} s`;
  if (size >= 100) return `${ms.toFixed(0)} ms`;
  if (size >= 1) return `${ms.toFixed(1)} ms`;
  return isNoTime(ms) ? '0 ms' : `${ms.toFixed(2)} ms`;
}

/** Less than is shown of a time. @param {number} ms */
export function isNoTime(ms) {
  return Math.abs(ms) < 0.005;
}

/** @param {number} ms */
export function age(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : duration(ms);
}

/** @param {number | null | undefined} share */
export function percent(share) {
  return share === null || share === undefined ? '–' : `${Math.round(100 * share)} %`;
}

/** @param {number} wallMs */
export function clock(wallMs) {
  return CLOCK.format(wallMs);
}

/**
 * A sentence of the picker, with its times as this machine's clock shows them, as in the rest of the
 * page: the picker writes those of UTC, to a thousandth of a second.
 * @param {string} sentence
 * @param {number} nowMs
 */
export function withLocalTimes(sentence, nowMs) {
  const today = DAY.format(nowMs);
  return sentence.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => {
    const wallMs = Date.parse(time);
    if (Number.isNaN(wallMs)) return time;
    const day = DAY.format(wallMs);
    return day === today ? clock(wallMs) : `${day} ${clock(wallMs)}`;
  });
}

/**
 * The words of a name such as `queueingDelayForOthersMs`, without its unit.
 * @param {string} name
 */
export function words(name) {
  return name
    .replace(/(?:Ms|Tokens)$/, (unit) => (unit === 'Ms' ? '' : ' tokens'))
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}

/**
 * What all names begin with, up to a slash, such as the namespace; of one name all before its last part.
 * @param {readonly string[]} names
 */
export function sharedStart(names) {
  const [first = '', ...others] = names;
  let length = first.lastIndexOf('/') + 1;
  while (length > 0 && !others.every((name) => name.startsWith(first.slice(0, length)))) {
    length = first.lastIndexOf('/', length - 2) + 1;
  }
  return first.slice(0, length);
}

/** Longer names take several lines of the table. */
const NAME_CHARS = 24;

/**
 * What all names begin with, up to a slash, or up to a hyphen where names are long, such as those of
 * the pods of one deployment.
 * @param {readonly string[]} names
 */
export function sharedStartOfPods(names) {
  const start = sharedStart(names);
  const [first = ''] = names;
  if (names.length < 2 || names.every((name) => name.length - start.length <= NAME_CHARS))
    return start;
  let length = first.lastIndexOf('-') + 1;
  while (length > start.length && !names.every((name) => name.startsWith(first.slice(0, length)))) {
    length = first.lastIndexOf('-', length - 2) + 1;
  }
  return first.slice(0, Math.max(length, start.length));
}

/**
 * Shortens a name of a pool as its table does: without what all names begin with, and with `…` in place
 * of what is left out of names of pods.
 * @param {readonly string[]} names
 * @returns {(name: string) => string}
 */
export function shortener(names) {
  const start = sharedStartOfPods(names);
  const mark = start === sharedStart(names) ? '' : '…';
  return (name) => (name.startsWith(start) ? `${mark}${name.slice(start.length)}` : name);
}

/** Less than is shown of a difference: one of several equal endpoints was taken. @param {number} moreMs */
export function isTie(moreMs) {
  return Math.abs(moreMs) < 0.05;
}

/** Less than is shown of a difference in score. @param {number} behind */
export function isScoreTie(behind) {
  return Math.abs(behind) < 0.0005;
}
