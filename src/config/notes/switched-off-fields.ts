import { DEFAULT_EJECTION } from '../../picker/ejection/ejection-plan.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { DEFAULT_HOLD } from '../../picker/plan/hold-plan.ts';
import type { EndpointPickerConfig } from '../schema/schema.ts';
import { isGiven, parameterAt } from './parameter-at.ts';
import { switchedOffAt } from './switched-off.ts';

const SEPARATE_STAGES = ['prefill', 'encode'] as const;
type SeparateStage = (typeof SEPARATE_STAGES)[number];

/** A note for each field, and each profile, that another part of the configuration switches off. */
export function switchedOffFields(config: EndpointPickerConfig): readonly ConfigNote[] {
  const { hold, ejection } = config;
  return [
    ...offBy('hold', hold ?? undefined, DEFAULT_HOLD),
    ...offBy('ejection', ejection ?? undefined, DEFAULT_EJECTION),
    ...prioritiesOfTemplates(config),
    ...config.plugins.flatMap(({ type, parameters }, index) =>
      type === 'disagg-profile-handler'
        ? stagesThatNeverRun(parameters, `plugins[${index}].parameters`, config)
        : [],
    ),
    ...config.plugins.flatMap((plugin, index) => [
      ...headroomOfNoFilter(plugin, `plugins[${index}].parameters`, config),
      ...choiceOfOneProfile(plugin, `plugins[${index}].parameters`, config),
    ]),
  ];
}

/** What a section that is not enabled says beside that. */
function offBy<Section extends { readonly enabled: boolean }>(
  name: string,
  given: Section | undefined,
  usual: Section,
): readonly ConfigNote[] {
  if (given === undefined || given.enabled) return [];
  const said = Object.entries(given).filter(
    ([field, value]) => field !== 'enabled' && value !== parameterAt(usual, field),
  );
  return said.map(([field]) => switchedOffAt(`${name}.${field}`, `${name}.enabled: true`));
}

function prioritiesOfTemplates({ flowControl }: EndpointPickerConfig): readonly ConfigNote[] {
  const templates = ['defaultPriorityBand', 'defaultNegativePriorityBand'] as const;
  return templates.flatMap((name): readonly ConfigNote[] => {
    if ((flowControl?.[name]?.priority ?? 0) === 0) return [];
    const path = `flowControl.${name}.priority`;
    const text = `${path} has no effect: the band is a template, for priorities that are not in priorityBands; leave it out`;
    return [{ path, reason: 'obsolete', text }];
  });
}

const DETECTORS: ReadonlySet<string> = new Set(['concurrency-detector', 'utilization-detector']);

/** The `headroom` of a detector: it is what the filter leaves, and no part of the saturation. */
function headroomOfNoFilter(
  { type, name = type, parameters }: EndpointPickerConfig['plugins'][number],
  at: string,
  { schedulingProfiles }: EndpointPickerConfig,
): readonly ConfigNote[] {
  if (!DETECTORS.has(type) || Number(parameterAt(parameters, 'headroom') ?? 0) === 0) return [];
  // Without profiles, the one that is made of all plugins has the detector as a filter.
  const filters = schedulingProfiles.flatMap(({ plugins }) => plugins.map((it) => it.pluginRef));
  if (schedulingProfiles.length === 0 || filters.includes(name)) return [];
  return [switchedOffAt(`${at}.headroom`, `${name} listed in a profile, where it filters`)];
}

/** What `header-profile-handler` chooses by, where there is one profile, which it always runs. */
function choiceOfOneProfile(
  { type, parameters }: EndpointPickerConfig['plugins'][number],
  at: string,
  { schedulingProfiles }: EndpointPickerConfig,
): readonly ConfigNote[] {
  if (type !== 'header-profile-handler' || schedulingProfiles.length > 1) return [];
  const given = ['headerName', 'defaultProfile'].filter((it) =>
    isGiven(parameterAt(parameters, it)),
  );
  return given.map((it) => switchedOffAt(`${at}.${it}`, 'two or more schedulingProfiles'));
}

/** Deciders of profiles that are not there, and profiles that no decider lets run. */
function stagesThatNeverRun(
  parameters: unknown,
  at: string,
  { schedulingProfiles }: EndpointPickerConfig,
): readonly ConfigNote[] {
  const textAt = (path: string): string => {
    const value = parameterAt(parameters, path);
    return typeof value === 'string' ? value : '';
  };
  const isPrefillFirst = /^prefill/i.test(textAt('stageOrder'));
  const deciderOf: Readonly<Record<SeparateStage, readonly string[]>> = {
    prefill: ['deciders.prefill', 'prefillDeciderPluginName', 'deciderPluginName'],
    encode: ['deciders.encode', 'encodeDeciderPluginName'],
  };
  return SEPARATE_STAGES.flatMap((stage): readonly ConfigNote[] => {
    const profile = textAt(`profiles.${stage}`) || textAt(`${stage}Profile`) || stage;
    const decider = deciderOf[stage].find((path) => textAt(path) !== '');
    const place = schedulingProfiles.findIndex(({ name }) => name === profile);
    const always = stage === 'prefill' && isPrefillFirst;
    if (place < 0 && decider !== undefined) {
      return [switchedOffAt(`${at}.${decider}`, `a profile ${profile}`)];
    }
    if (place < 0 || decider !== undefined || always) return [];
    return [switchedOffAt(`schedulingProfiles[${place}]`, `${at}.deciders.${stage}`)];
  });
}
