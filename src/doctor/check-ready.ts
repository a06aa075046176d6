import type { Finding } from './finding.ts';

/** What `/readyz` answers: its status and text. */
export interface ReadyAnswer {
  readonly status: number;
  readonly text: string;
}

/** Files of a picker by what `detail` of `/readyz` calls their errors. */
const FILES: readonly (readonly [detail: string, file: string, goesOn: string])[] = [
  ['endpointsFileError', 'endpoints file', 'the last good list'],
  ['configError', 'configuration file', 'the last good one'],
  ['certificateError', 'certificate of the ext_proc port', 'the last good one'],
  ['metricsCertificateError', 'certificate of the metrics port', 'the last good one'],
  ['outgoingTlsErrors', 'TLS files for other servers', 'what they had before'],
];
const ERROR_CHARACTERS_MAX = 1000;
/** The picker says more of them. */
const FAULTS_SHOWN = 5;
/** The last line of an error that does not say all faults. */
const AND_MORE = /^and (\d+) more$/;

/** The files that the picker refuses. It goes on without them, and a restart would fail. */
export function checkRefusedFiles({ text }: ReadyAnswer): readonly Finding[] {
  const detail = detailOf(text);
  return FILES.flatMap(([name, file, goesOn]) => {
    return errorsOf(detail[name]).map(
      (error): Finding => ({
        severity: 'warning',
        id: 'file-refused',
        where: `${file} of the picker`,
        what: `it is refused, the picker goes on with ${goesOn}, and a restart would fail: ${inOneLine(error)}`,
        mend: 'Correct the file, or go back to the one before.',
      }),
    );
  });
}

/** An error, or a list of documents with a reason each. */
function errorsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: { readonly reason?: unknown } | null) => {
    const reason = each?.reason;
    return typeof reason === 'string' ? [reason] : [];
  });
}

/**
 * Troubles of a running picker by what `detail` of `/readyz` calls them, with the page about each.
 * A late event loop is not among them: it passes, and has an alert.
 */
const TROUBLES: readonly (readonly [detail: string, id: string, where: string, mend: string])[] = [
  ['replicaTrouble', 'replicas-lost', 'replicas', 'docs/runbooks.md#pointsman-replicas-lost'],
  ['schedulerTrouble', 'scheduler-lost', 'scheduler', 'docs/runbooks.md#pointsman-scheduler-lost'],
  ['captureTrouble', 'capture-not-written', 'capture', 'docs/runbooks.md#pointsman-capture-fails'],
  [
    'hostNameErrors',
    'host-name-unresolved',
    'host names of model servers',
    'docs/model-servers.md#host-names',
  ],
  [
    'kubernetesTroubles',
    'kubernetes-trouble',
    'Kubernetes API',
    'docs/runbooks.md#pointsman-api-server-gone',
  ],
];

/** What is away that the picker goes on without. */
export function checkTroubles({ text }: ReadyAnswer): readonly Finding[] {
  return TROUBLES.flatMap(([name, id, where, page]) => {
    const said = sentencesOf(detailOf(text)[name]);
    if (said.length === 0) return [];
    const what = said.join('; ').slice(0, ERROR_CHARACTERS_MAX);
    return [{ severity: 'warning', id, where, what, mend: `See ${page}.` } satisfies Finding];
  });
}

/** A text, a list of texts, or texts by name. */
function sentencesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.map(String);
  return value instanceof Object ? Object.entries(value).map((each) => each.join(': ')) : [];
}

/** The reasons in the document that the picker answers; the text of anything else. */
export function reasonsOf(text: string): string {
  const { reasons } = documentOf(text);
  return Array.isArray(reasons) ? `${reasons.join('; ')}.` : text.trim().slice(0, 200);
}

function detailOf(text: string): Readonly<Record<string, unknown>> {
  const { detail } = documentOf(text);
  return detail instanceof Object ? (detail as Readonly<Record<string, unknown>>) : {};
}

function documentOf(text: string): { readonly reasons?: unknown; readonly detail?: unknown } {
  try {
    const document: unknown = JSON.parse(text);
    return document instanceof Object ? document : {};
  } catch {
    return {};
  }
}

/** An error has a line for each fault of the file: the first ones, and how many there are beside them. */
function inOneLine(error: string): string {
  const [file = '', ...lines] = error.split('\n').map((line) => line.trim());
  const [, untold = '0'] = AND_MORE.exec(lines.at(-1) ?? '') ?? [];
  const faults = lines.filter((line) => !AND_MORE.test(line));
  const shown = faults.slice(0, FAULTS_SHOWN);
  const others = faults.length - shown.length + Number(untold);
  const last = others === 0 ? '' : `; and ${others.toLocaleString('en')} more`;
  const first = shown.length === 0 ? file : `${file} ${shown.join('; ')}`;
  const isLong = first.length > ERROR_CHARACTERS_MAX;
  return `${isLong ? `${first.slice(0, ERROR_CHARACTERS_MAX)}…` : first}${last}`;
}
