import { expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../test/makers.ts';
import { MODELS, type ServedModel } from '../../framework/endpoint-attributes.ts';
import { type ServedModelConfig, servedModelFilter, servedModelOutcome } from './served-model.ts';

const base: ServedModel = { id: 'base', isAdapter: false };
const lora: ServedModel = { id: 'lora', isAdapter: true };
/** The endpoint 2 has not answered yet. */
const LISTS = [[base, lora], [base], undefined];

function keptFor(
  model: string,
  parameters: object = {},
  lists: readonly (readonly ServedModel[] | undefined)[] = LISTS,
): readonly number[] {
  const { config, create } = servedModelFilter;
  const pool = makePool(lists.map((list) => ({ attributes: [[MODELS as never, list]] })));
  const context = makeContext({ request: makeRequest({ model }) });
  const filter = create(config.parse(parameters), makeRuntime());
  return filter.filter(pool, context).map(({ slot }) => slot);
}

it.each([
  ['an adapter goes where it is listed, and not where nothing is known', 'lora', {}, [0]],
  ['a base model goes where nothing is known, too', 'base', {}, [0, 1, 2]],
  ['with onMissing Fail it does not', 'base', { onMissing: 'Fail' }, [0, 1]],
  ['a model that none lists goes where nothing is known', 'other', {}, [2]],
  ['or nowhere', 'other', { onMissing: 'Fail' }, []],
  ['or anywhere', 'other', { onMissing: 'Fail', fallbackOnEmpty: true }, [0, 1, 2]],
  ['a request without a model goes anywhere', '', { onMissing: 'Fail' }, [0, 1, 2]],
])('[D326] %s', (_what, model, parameters, wanted) => {
  expect(keptFor(model, parameters)).toEqual(wanted);
});

it('[D326] keeps none where all endpoints have answered and none lists the model', () => {
  expect(keptFor('other', {}, [[base], [base], [base]])).toEqual([]);
});

it.each([
  ['lora', {}, 'listed', 1],
  ['base', { onMissing: 'Fail' }, 'listed', 1],
  ['other', {}, 'unlisted', 1],
  ['other', { onMissing: 'Fail' }, 'empty', 1],
  ['other', { onMissing: 'Fail', fallbackOnEmpty: true }, 'fallback', 1],
  ['', {}, 'not_applicable', 0],
] as const)(
  '[D331] a request for "%s" with %j counts as %s',
  (model, parameters, outcome, unlisted) => {
    const config = servedModelFilter.config.parse(parameters) as ServedModelConfig;
    const endpoints = makePool(LISTS.map((list) => ({ attributes: [[MODELS as never, list]] })));
    const context = makeContext({ request: makeRequest({ model }) });
    const kept = servedModelFilter.create(config, makeRuntime()).filter(endpoints, context);
    expect(servedModelOutcome(config, { endpoints, kept }, model)).toEqual({ outcome, unlisted });
  },
);
