import { parse } from 'yaml';
import { readText } from '../house/source-tree.ts';

/** A plugin: its type, or type, parameters and name. */
type Part = string | readonly [type: string, parameters: object, name?: string];
/** A profile's plugin: its name, or name and weight. */
type Member = string | readonly [name: string, weight: number];

/** A configuration that someone publishes, as facts: types, parameters and references. */
export interface CorpusCase {
  /** Where it is published. */
  readonly from: string;
  readonly version?: string;
  readonly plugins: readonly Part[];
  readonly profiles?: Readonly<Record<string, readonly Member[]>>;
  /** The other sections. */
  readonly sections?: object;
  /** Why the reference refuses it; accepted without. */
  readonly refused?: string;
}

const KIND = 'EndpointPickerConfig';

/** The cases of all files of this folder. */
export function corpusCases(): readonly CorpusCase[] {
  return ['router', 'guides', 'loader', 'public', 'older'].flatMap(
    (name) => parse(readText(`test/corpus/${name}.yaml`), { merge: true }) as readonly CorpusCase[],
  );
}

/** The text of the configuration. */
export function configurationOf({ version, plugins, profiles, sections }: CorpusCase): string {
  return JSON.stringify({
    apiVersion: version ?? 'llm-d.ai/v1alpha1',
    kind: KIND,
    plugins: plugins.map((part) => {
      if (typeof part === 'string') return { type: part };
      const [type, parameters, name] = part;
      return { type, parameters, ...(name !== undefined && { name }) };
    }),
    ...(profiles !== undefined && {
      schedulingProfiles: Object.entries(profiles).map(([name, members]) => ({
        name,
        plugins: members.map((member) =>
          typeof member === 'string'
            ? { pluginRef: member }
            : { pluginRef: member[0], weight: member[1] },
        ),
      })),
    }),
    ...sections,
  });
}
