import { buildKubernetes } from '../support/kubernetes-binaries.ts';
import { parseOptions } from '../support/parse-options.ts';
import { buildReferenceEpp } from '../support/reference-epp.ts';
import { PORTS_MAX } from '../support/reference-pools.ts';
import { envoyBinary } from '../support/stack.ts';
import type { Difference } from './compare.ts';
import { type LiveAgreement, measureAgreement } from './live.ts';
import type { Reference } from './reference.ts';

const HELP = `npm run bench -- agreement [options]

Sends requests through a real Envoy with two ext_proc filters: a picker that decides, and a Pointsman
with --observe. Compares each decision with what reference-default makes of the same inputs.
With --go the reference picker decides: that of the Gateway API Inference Extension, which is built
with Go once and finds the servers by an InferencePool at a real API server. POINTSMAN_REFERENCE_EPP
names another program of it, which reads them from a file; with neither, another Pointsman with
reference-default decides. Then the same with two other policies in charge.

Two pickers scrape at different times, and what the other one has read is not known. So the metrics
pages of the servers stand still, and are taken anew after every hundred answers, once both pickers
have read them. A decision is the same; a tie, as the score is the same; or explained, where pages
changed meanwhile, by the other page of some servers.

Ends with code 1 where less than 98 % of all decisions are the same or explained, where less than
98 % of those made while the pages stood still are the same or a tie, where these are less than a
quarter of all, or where another policy passes.

  --go             build and start the real reference picker; needs Go, at most 8 servers
  --requests <n>   requests for each policy (2000)
  --servers <n>    model servers, stubs (4)
  --clients <n>    clients at the same time (16)
  --seed <n>       of the requests (1)
  --others <configs>  the other policies (least-queue,random); "none" leaves them out
  --json           print one JSON document
`;

const ALIKE_MIN = 0.98;
const STILL_SHARE_MIN = 0.25;
const SHOWN_MAX = 10;

async function main(): Promise<void> {
  const { values } = parseOptions({
    options: {
      requests: { type: 'string', default: '2000' },
      servers: { type: 'string', default: '4' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
      others: { type: 'string', default: 'least-queue,random' },
      json: { type: 'boolean', default: false },
      go: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const envoy = await envoyBinary();
  if (envoy === undefined) {
    process.exitCode = 2;
    return;
  }
  const servers = count('servers', values.servers);
  if (values.go && servers > PORTS_MAX) {
    throw new Error(`--servers is ${servers}, and must be at most ${PORTS_MAX} with --go`);
  }
  const reference = await referencePicker(values.go);
  if (reference === 'none') {
    process.exitCode = 2;
    return;
  }
  const measure = (standIn: string, reference?: Reference): Promise<LiveAgreement> =>
    measureAgreement({
      envoy,
      reference,
      standIn,
      requests: count('requests', values.requests),
      servers,
      clients: count('clients', values.clients),
      seed: count('seed', values.seed),
    });
  const results = [await measure('reference-default', reference)];
  for (const other of values.others === 'none' ? [] : values.others.split(',')) {
    results.push(await measure(other));
  }
  process.stdout.write(values.json ? `${JSON.stringify(results)}\n` : asText(results));
  const [asked, ...others] = results.map(passes);
  if (asked !== true || others.includes(true)) process.exitCode = 1;
}

/** The reference's program where one is wanted; "none" with a message where it cannot be had. */
async function referencePicker(fromGo: boolean): Promise<Reference | undefined | 'none'> {
  const path = process.env['POINTSMAN_REFERENCE_EPP'] ?? '';
  if (!fromGo) return path === '' ? undefined : { name: path, path };
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const [kubernetes, built] = [await buildKubernetes(log), await buildReferenceEpp(log)];
  if (!('unavailable' in kubernetes) && !('unavailable' in built)) {
    return { name: built.version, path: built.path, kubernetes };
  }
  for (const each of [kubernetes, built]) if ('unavailable' in each) log(each.unavailable);
  return 'none';
}

function passes({ decisions, others, still }: LiveAgreement): boolean {
  return (
    decisions - others.length >= ALIKE_MIN * decisions &&
    still.alike >= ALIKE_MIN * still.decisions &&
    still.decisions >= STILL_SHARE_MIN * decisions
  );
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} is ${JSON.stringify(text)}, and must be a whole number of at least 1`);
}

type Cell = (result: LiveAgreement) => readonly [number, of: number];

const ROWS: readonly (readonly [what: string, cell: Cell])[] = [
  ['decisions', ({ decisions }) => [decisions, decisions]],
  ['the same endpoint', ({ same, decisions }) => [same, decisions]],
  ['a tie: the same score, drawn at random', ({ ties, decisions }) => [ties, decisions]],
  ['explained: a page changed meanwhile', ({ scrapes, decisions }) => [scrapes, decisions]],
  ['not explained', ({ others, decisions }) => [others.length, decisions]],
  ['of picks at random the same or explained', ({ byChance, decisions }) => [byChance, decisions]],
  ['made while the pages stood still', ({ still, decisions }) => [still.decisions, decisions]],
  ['  of these the same or a tie', ({ still }) => [still.alike, still.decisions]],
  ['  of picks at random', ({ still }) => [still.byChance, still.decisions]],
  ['that allow one endpoint only', ({ sole, decisions }) => [sole.decisions, decisions]],
  ['  of these the same endpoint', ({ sole }) => [sole.alike, sole.decisions]],
];

function asText(results: readonly LiveAgreement[]): string {
  const cellOf = (cell: Cell, result: LiveAgreement): string => {
    const [number, of] = cell(result);
    const percent = ((100 * number) / Math.max(1, of)).toFixed(2);
    return `${String(Math.round(number)).padStart(8)}${percent.padStart(8)} %`;
  };
  return `${[
    ...results.map(({ inCharge }, at) => `in charge, column ${at + 1}: ${inCharge}`),
    ...ROWS.map(
      ([what, cell]) => `  ${what.padEnd(42)}${results.map((each) => cellOf(cell, each)).join('')}`,
    ),
    ...(results[0]?.others ?? []).slice(0, SHOWN_MAX).map(difference),
  ].join('\n')}\n`;
}

/** A decision that is not explained, with the scores of both endpoints and what makes most of it. */
function difference({ n, was, is, standing }: Difference): string {
  const [term] = standing?.terms ?? [];
  const went = 'endpoint' in was ? was.endpoint : was.error;
  const wanted = 'endpoint' in is ? is.endpoint : is.error;
  const why =
    standing?.scores === undefined || term === undefined
      ? 'which was not scored'
      : `scores ${standing.scores.was.toFixed(4)} and ${standing.scores.is.toFixed(4)}, of which ${term.scorer} ${term.was.toFixed(4)} and ${term.is.toFixed(4)}`;
  return `  not explained: request ${n} went to ${went} in place of ${wanted}, ${why}`;
}

await main();
