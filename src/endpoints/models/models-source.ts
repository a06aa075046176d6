import { z } from 'zod';
import { SERVED_MODELS, type ServedModelsView } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CONTEXT_WINDOW, MODELS, type ServedModel } from '../../framework/endpoint-attributes.ts';
import {
  type CycleFact,
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
} from '../../framework/plugin.ts';
import { CLIENT_PAIR, hasClientPair, httpTlsFields } from '../../plugins/parameters/http-tls.ts';
import { JoinedSources } from '../scraping/joined-sources.ts';
import { pageFields, pollInterval, sourceOrder } from '../scraping/page-fields.ts';
import { PagePoller, type PageSink, type PollConfig } from '../scraping/page-poller.ts';

const TYPE = 'models-data-source';
/** Adapters are loaded by people and controllers: a second later is soon enough. */
const INTERVAL_MS = 1000;
const TIMEOUT_MS = 1000;
/** A list of thousands of adapters is not longer. */
const PAGE_BYTES_MAX = 1024 * 1024;
/** Requests look through the list, and checking it takes some microseconds for each. */
const MODELS_MAX = 5000;

interface ModelsConfig extends PollConfig {
  readonly path: string;
  readonly order?: number | undefined;
}

/** What an answer says. */
interface ModelList {
  readonly answer: string;
  readonly models: readonly ServedModel[];
  /**
   * The longest context window of those that are no adapters; undefined where one does not say its
   * own.
   */
  readonly windowTokens: number | undefined;
}

const config = z.lazy(() =>
  z
    .strictObject({
      ...pageFields('http', '/v1/models'),
      interval: pollInterval(INTERVAL_MS),
      order: sourceOrder,
      ...httpTlsFields,
    })
    .refine(hasClientPair, CLIENT_PAIR),
);

const text = z.string().optional().catch(undefined);
const page = z.lazy(() =>
  z.object({
    data: z.array(
      z.object({
        id: z.string(),
        object: text,
        created: z.number().optional().catch(undefined),
        owned_by: text,
        shutdown_date: text,
        parent: text,
        max_model_len: z.number().positive().optional().catch(undefined),
      }),
    ),
  }),
);

const VIEW: ServedModelsView = { modelsOf: (endpoint) => endpoint.attribute(MODELS) };
const FACT: CycleFact<ServedModelsView> = { key: SERVED_MODELS, compute: () => VIEW };

/** Where several sources have a list, the first one counts. An equal answer changes nothing. */
const lists = new JoinedSources<ModelList>((pool, id) => {
  let last: string | undefined;
  return ([list]) => {
    if (list === undefined || list.answer === last) return;
    last = list.answer;
    pool.set(id, MODELS, list.models);
    if (list.windowTokens !== undefined) pool.set(id, CONTEXT_WINDOW, list.windowTokens);
  };
});

/** Reads which models and adapters each endpoint serves, from its answer to `GET /v1/models`. */
export const modelsSource: DataSourceDefinition = defineDataSource<ModelsConfig>({
  type: TYPE,
  config,
  provides: () => [SERVED_MODELS],
  start(parsed, host) {
    const poller = new PagePoller({
      config: parsed,
      host,
      sourceType: TYPE,
      timeoutMs: TIMEOUT_MS,
      bodyBytesMax: PAGE_BYTES_MAX,
      urlOf: ({ address }) => new URL(`${parsed.scheme}://${address}${parsed.path}`),
      sinkOf: (endpoint) => sinkOf(endpoint, host, parsed),
    });
    return Object.assign(poller, { facts: [FACT] });
  },
});

function sinkOf({ id }: Endpoint, { pool }: DataSourceHost, { order }: ModelsConfig): PageSink {
  const part = lists.join(pool, id, order);
  let list: ModelList | undefined;
  const take = (page: Uint8Array): void => {
    const answer = new TextDecoder().decode(page);
    if (answer !== list?.answer) list = modelsIn(answer);
    part.take(list);
  };
  return { ...part, take };
}

/** Accepted beside the source, which extracts the models itself. */
export const modelsExtractor: DataSourceDefinition = defineDataSource({
  type: 'models-data-extractor',
  config: z.looseObject({}),
  start: () => ({ stop: () => undefined }),
});

function modelsIn(answer: string): ModelList {
  const value: unknown = JSON.parse(answer);
  const listed = (value as { readonly data?: unknown } | null)?.data;
  if (Array.isArray(listed) && listed.length > MODELS_MAX) {
    throw new Error(`the list has ${listed.length} models, and may have ${MODELS_MAX}`);
  }
  const parsed = page.safeParse(value);
  if (!parsed.success) throw new Error('the answer is no list of models');
  const { data } = parsed.data;
  const models = data.map(({ max_model_len: _window, parent = '', ...shown }) => ({
    ...shown,
    isAdapter: parent !== '',
  }));
  const bases = data.filter(({ parent = '' }) => parent === '');
  const windows = bases.flatMap(({ max_model_len: tokens }) => tokens ?? []);
  const areKnown = windows.length > 0 && windows.length === bases.length;
  return { answer, models, windowTokens: areKnown ? Math.max(...windows) : undefined };
}
