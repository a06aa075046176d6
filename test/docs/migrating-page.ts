import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { REFERENCE_FLAGS } from '../../src/commands/go-flags/reference-flags.ts';
import { GENERAL_DIFFERENCES } from '../../src/config/reference/general-differences.ts';
import { REFERENCE_TYPES, type ReferenceRole } from '../../src/config/reference/reference-table.ts';
import { coreInsteadOf } from '../../src/config/reference/reference-types.ts';
import { NOTE_REASONS } from '../../src/picker/plan/config-note.ts';
import { readText, sourceFiles } from '../house/source-tree.ts';
import {
  REFERENCE_HEADERS,
  REFERENCE_METRICS,
  REFERENCE_PROCESS_METRICS,
} from '../reference/reference-names.ts';

/**
 * States that the catalogue does not give: of types that a discovery stands for, and of bounded
 * ones.
 */
const OWN_STATES: ReadonlyMap<string, string> = new Map([
  ['file-discovery', 'works'],
  ['multicluster-file-discovery', 'works'],
  ['request-attribute-reporter', 'works, without `matches()`, and with bounds for lists and loops'],
]);

const HEAD = `# From llm-d-router to Pointsman

Pointsman takes the place of llm-d's endpoint picker, here called the reference. It reads the same arguments, configuration files
and custom resources, and has the same headers and metrics.

The tables below are generated from the code: after a change of a state run \`npm test -- test/docs/migrating-page.test.ts -u\`.

## The swap in five steps

1. **Check the configuration.** Take the file out of the ConfigMap or out of the chart's values and let \`check\` read it.
   It lists all errors at once, or says in words what runs, which parts have no effect and why, and with \`--like-reference\`
   what behaves otherwise than in the reference. Nothing is sent anywhere. What older releases of the reference had under another name,
   such as \`hashBlockSize\`, works, and \`check\` says what to write; what cannot be had is an error that says what to write in its place.

   \`\`\`sh
   npx pointsman check --config epp-config.yaml --like-reference
   \`\`\`

2. **Let it watch.** Run Pointsman beside the picker in charge: a second Deployment with the same arguments and \`--observe\` behind
   them. Its ext_proc filter comes second, and it decides nothing. \`pointsman shadow top\` shows how often it would have decided alike,
   and what differed ([shadows](shadows.md#beside-another-picker)). It takes no part in an election of a leader, which would be that of
   the pickers in charge. As with the reference, its port has TLS unless the arguments say
   \`--secure-serving=false\`: Envoy's cluster for the observer needs the same. In one pod, give it ports of its own
   (\`--grpc-port\`, \`--grpc-health-port\`, \`--metrics-port\`).
3. **Put the image in.** In the Deployment, or in the values of the chart that name the image, replace the reference's image by
   that of Pointsman ([which value of which chart](kubernetes.md#which-value-names-the-image)). The arguments stay: a command line of the reference is read as it is, with its defaults
   ([kubernetes](kubernetes.md#in-place-of-the-reference-picker)). Flags of Pointsman may stand beside them.
4. **Look at the flags.** The first line of the log names each given flag and variable that changes nothing here, with what holds
   instead; without such flags there is no such line. They can stay or go.
5. **Look at dashboards and alerts.** Metrics have the reference's names, labels and buckets where the meaning is the same. The table
   below names those that are not there. \`/debug/plugins/state\` has the reference's form, for this machine only, so through
   \`kubectl port-forward\` ([who gets in](access.md)). To go back, put the old image in again: the picker keeps no state outside its process.

## What differs in every configuration

- Endpoints that fail are left out until trials succeed ([ejection](failing-servers.md)); \`ejection: {enabled: false}\` turns it off.
- An endpoint without a fresh sample is unknown, not idle.
${GENERAL_DIFFERENCES.map((text) => `- ${text}`).join('\n')}

The last needs a decision before the swap: a gateway that adds such headers or fields itself needs that flag, and so does llm-d's coordinator.
It may stand beside the reference's arguments ([what clients can choose](model-rewrites.md#what-clients-can-choose)).

## What later releases do otherwise

Pointsman reads the configurations of releases after 0.10 of the reference, too. In these it decides otherwise:

- Where filters leave no endpoint, the answer has status 429 and \`rejected-saturated\`, as in 0.10; later releases answer 503.
- A prompt for which the prefill profile finds no endpoint is computed by the decoding endpoint, as in 0.10; later releases refuse it
  unless \`profiles.fallback\` names who serves it whole. That parameter has its meaning here, too. A file of \`llm-d.ai/v1\`, which only later
  releases read, refuses it here, too; \`prefillRequired\` of \`disagg-profile-handler\` says it in both versions.
- The saturation detector filters in the profiles that list it, as in 0.10; in later releases it filters in every profile, behind the other
  filters. Where endpoints that are saturated shall be left out, list \`utilization-detector\` in the profile.
- \`penaltySource: sessionCost\` of \`prefix-cache-affinity-filter\` is refused, because the filter weighs the wait at the endpoints that hold
  the prompt against the one elsewhere, and nothing else: leave it out, or use the configuration \`default\`, which prices lost locality.
- \`prefillCalibrationRequired: true\` of the same filter is refused, because there is no calibration: write the measured speed as
  \`peakPrefillThroughput\`.
`;

/** The text of docs/migrating-from-llm-d.md, with tables made from the code. */
export function migratingPage(): string {
  return `${HEAD}\n${tables()}`;
}

function tables(): string {
  return [
    '## Reasons of notes',
    '',
    'Each part of a configuration that has no effect, or that should be written in another way, has a note with one of these reasons.',
    'No other reason exists.',
    '',
    table(
      ['reason', 'meaning'],
      Object.entries(NOTE_REASONS).map(([name, text]) => [code(name), text]),
    ),
    '',
    '## Plugin types',
    '',
    table(
      ['type', 'for', 'state'],
      [...REFERENCE_TYPES].map(([type, role]) => [code(type), role, typeState(type, role)]),
    ),
    '',
    '## Flags',
    '',
    'A command line of the reference picker is read as it is; the state says what each flag does.',
    '',
    table(
      ['flag', 'state'],
      [...REFERENCE_FLAGS].map(([name, flag]) => [code(`--${name}`), flagState(flag)]),
    ),
    '',
    '## Metrics',
    '',
    'Names are those of the reference with the prefix `llm_d_epp_`. What each means is in [metrics.md](metrics.md).',
    '',
    table(
      ['metric', 'state'],
      REFERENCE_METRICS.map((name) => [code(name), metricState(name)]),
    ),
    '',
    'What libraries of the reference add about its process:',
    '',
    table(
      ['metric', 'state'],
      REFERENCE_PROCESS_METRICS.map(([name, state]) => [code(name), state]),
    ),
    '',
    '## Headers and metadata',
    '',
    table(
      ['name', 'for', 'state'],
      REFERENCE_HEADERS.map(([name, what]) => [code(name), what, headerState(name)]),
    ),
    '',
  ].join('\n');
}

function typeState(type: string, role: ReferenceRole): string {
  const { filters, scorers, pickers, profileHandlers, deciders, dataSources } = SERVING_CATALOGUE;
  const all = [filters, scorers, pickers, profileHandlers, deciders, dataSources].flat();
  const state = OWN_STATES.get(type);
  if (state !== undefined) return state;
  if (!all.some((definition) => definition.type === type)) return 'refused: not built';
  const instead = coreInsteadOf(type);
  if (instead !== undefined) return `by the picker itself: ${instead}`;
  return role === 'parser' ? 'works, where `requestHandler` names it' : 'works';
}

function flagState({ to, fixed }: { readonly to?: unknown; readonly fixed?: string }): string {
  if (fixed !== undefined) return `no effect: ${fixed}`;
  return to === undefined ? 'read, without effect' : 'works';
}

const PREDICTED = 'predictions are made while scorers run: `plugin_duration_seconds`';
const NO_PARTS = 'a prompt is counted as a whole, with its media';
/** Metrics whose meaning does not exist here. */
const WITHOUT_MEANING: ReadonlyMap<string, string> = new Map([
  ['plugin_data_scope_violations_total', 'there are no scopes that a plugin could leave'],
  ['request_ttft_prediction_duration_seconds', PREDICTED],
  ['request_tpot_prediction_duration_seconds', PREDICTED],
  ['tool_calling_field_status_total', 'bodies pass as they are, and tools are not looked at'],
  ['prefix_mm_predicted_cached_tokens', NO_PARTS],
  ['prefix_mm_prompt_tokens', NO_PARTS],
]);

const FORMER_NAMES: ReadonlyMap<string, string> = new Map([
  ['pd_decision_total', 'disagg_decision_total'],
]);

function metricState(name: string): string {
  const newer = FORMER_NAMES.get(name);
  if (newer !== undefined) return `works with \`--deprecated-metrics\`: the former \`${newer}\``;
  const instead = WITHOUT_MEANING.get(name);
  if (instead !== undefined) return `not there: ${instead}`;
  const short = name
    .replace(/^kv_cache_/, '')
    .replace(/^(flow_control_.*)_bytes$/, '$1_requests`, `…_bytes');
  const page = readText('docs/metrics.md');
  const family = name.replace(/^served_model_filter(?=_.*candidates_total)/, '…');
  const shown = [name, short, `llm_d_epp_${name}`, family].map((text) => `\`${text}\``);
  return shown.some((each) => page.includes(each)) ? 'works' : 'not there';
}

/** Lists names that are removed from requests, which alone is no work. */
const REMOVED = 'src/extproc/session/pick-mutation.ts';

const codeWith = (() => {
  const files = sourceFiles()
    .filter((path) => /^(?:src|scorers)\//.test(path) && !path.endsWith('.test.ts'))
    .map((path) => ({ path, text: readText(path).toLowerCase() }));
  return (name: string): readonly string[] => {
    const quoted = new RegExp(`['"\`]${name}['"\`]`);
    return files.filter(({ text }) => quoted.test(text)).map(({ path }) => path);
  };
})();

/** It counts where clients are trusted. */
const REWRITE_HEADER = /-model-name-rewrite$/;

function headerState(name: string): string {
  const users = codeWith(name);
  if (users.length === 0) return 'passed on unread';
  if (users.every((path) => path === REMOVED)) return 'removed from requests';
  return REWRITE_HEADER.test(name) ? 'works with `--trust-client-controls`' : 'works';
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines
    .map((cells) => `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}
